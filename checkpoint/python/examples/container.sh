#!/bin/bash
#SBATCH --job-name=container
#SBATCH --time=60
#SLUICE --max-gpus=8 --epochs=90
# Training inside a container. The job speaks with sluice through files in its own
# folder: inside there need be no Slurm command, no munge and no network to the
# daemon. What has to be bound in is
#
#   $SLUICE_JOB_DIR   the job's folder: requests, progress, checkpoints (to write)
#   $SLUICE_PYTHON    the training library, unless the image has it (to read)
#   $SLUICE           the program, for "sluice ranks" (to read)
#
# and the SLUICE_* variables have to pass. All of these tools pass the environment
# unless told otherwise (--cleanenv, --containall).
set -eu
image=${IMAGE:?set IMAGE, as in: IMAGE=~/pytorch.sif sluice submit container.sh}
train=(python3 -u "$SLUICE_PYTHON/examples/train_ddp.py" --epochs 90)

case ${RUNTIME:-apptainer} in
apptainer) # one container on each node; sluice ranks starts its processes in it
	exec srun apptainer exec --nv \
		--bind "$SLUICE_JOB_DIR" --bind "$SLUICE_PYTHON:$SLUICE_PYTHON:ro" --bind "$SLUICE:$SLUICE:ro" \
		"$image" "$SLUICE" ranks -- "${train[@]}"
	;;
pyxis) # enroot through srun; the image's own entry point is left out
	exec srun --container-image="$image" --no-container-entrypoint \
		--container-mounts="$SLUICE_JOB_DIR:$SLUICE_JOB_DIR,$SLUICE_PYTHON:$SLUICE_PYTHON:ro,$SLUICE:$SLUICE:ro" \
		"$SLUICE" ranks -- "${train[@]}"
	;;
enroot) # without pyxis; the image was made by "enroot create --name NAME FILE"
	exec srun enroot start --rw \
		--mount "$SLUICE_JOB_DIR:$SLUICE_JOB_DIR" --mount "$SLUICE_PYTHON:$SLUICE_PYTHON" --mount "$SLUICE:$SLUICE" \
		"$image" "$SLUICE" ranks -- "${train[@]}"
	;;
bwrap) # no image: the machine's own /usr, and nothing else of it; on one node
	exec bwrap --unshare-net --unshare-ipc --die-with-parent --proc /proc --dev-bind /dev /dev --tmpfs /tmp \
		--ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
		--ro-bind /etc/alternatives /etc/alternatives --ro-bind /etc/ld.so.cache /etc/ld.so.cache \
		--bind "$SLUICE_JOB_DIR" "$SLUICE_JOB_DIR" --ro-bind "$SLUICE_PYTHON" "$SLUICE_PYTHON" --ro-bind "$SLUICE" "$SLUICE" \
		"$SLUICE" ranks -- "${train[@]}"
	;;
esac
