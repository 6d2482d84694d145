#!/bin/bash
#SBATCH --job-name=torchrun
#SBATCH --time=30
#SLUICE --epochs=10 --model=ddp-example --allow-uneven
# Submit with: sluice submit torchrun.sh [options of train_ddp.py]
# One torchrun on each node, told the GPUs that node has in this run and where to
# meet. The same by hand, where a torchrun of your own is wanted:
#   srun bash -c 'exec torchrun --nnodes=$SLUICE_NODES --node_rank=$SLURM_NODEID \
#     --nproc_per_node=$SLURM_GPUS_ON_NODE --rdzv_backend=static \
#     --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT --max_restarts=0 train.py'
srun "$SLUICE" ranks --torchrun -- /usr/bin/python3 -u "$SLUICE_PYTHON/examples/train_ddp.py" --epochs 10 "$@"
