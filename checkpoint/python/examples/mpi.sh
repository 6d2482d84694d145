#!/bin/bash
#SBATCH --job-name=mpi
#SBATCH --time=30
#SLUICE --steps=200
# Submit with: sluice submit mpi.sh [options of train_mpi.py]
# Open MPI's mpirun; SLUICE_SPLIT is the present nodes and GPUs, as --host wants
# them. Its own mapping by cores would start other numbers.
exec mpirun --host "$SLUICE_SPLIT" --map-by slot --oversubscribe \
  /usr/bin/python3 -u "$SLUICE_PYTHON/examples/train_mpi.py" "$@"
