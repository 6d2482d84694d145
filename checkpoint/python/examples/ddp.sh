#!/bin/bash
#SBATCH --job-name=ddp
#SBATCH --time=30
#SLUICE --epochs=10 --model=ddp-example
# Submit with: sluice submit ddp.sh [options of train_ddp.py]
srun "$SLUICE" ranks -- /usr/bin/python3 -u "$SLUICE_PYTHON/examples/train_ddp.py" --epochs 10 "$@"
