#!/bin/bash
#SBATCH --job-name=mpi
#SBATCH --time=30
#SLUICE --steps=200
# Submit with: sluice submit mpi.sh [options of train_mpi.py]
# Open MPI's mpirun: SLUICE_SPLIT is the present nodes with their GPUs, as --host
# wants them. Without ^slurm it would count the tasks that Slurm has on each node.
exec mpirun --mca ras ^slurm --host "$SLUICE_SPLIT" --bind-to none \
  /usr/bin/python3 -u "$SLUICE_PYTHON/examples/train_mpi.py" "$@"
