"""An elastic training for the test of confined jobs: a perceptron on the pictures of the data set, one process a GPU,
PyTorch and gloo. All sums are of whole numbers, so that the model does not depend on the sizes at which it was
trained. The time of an epoch on a GPU is emulated: the program sleeps."""
import json
import os
import time

import sluice
import torch
import torch.distributed as dist

EPOCHS, SECONDS = int(os.environ.get("EPOCHS", "25")), float(os.environ.get("EPOCH_SECONDS", "1"))

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
with open(os.path.join(os.environ["SLUICE_DATA"], "mammo", "pictures.json"), encoding="ascii") as f:
    pictures = json.load(f)
inputs = torch.tensor([p["pixels"] for p in pictures], dtype=torch.int64)[rank::world]
labels = torch.tensor([p["label"] for p in pictures], dtype=torch.int64)[rank::world]

weights, epoch = torch.zeros(inputs.shape[1], dtype=torch.int64), 0
found = sluice.resume()
if found:
    state = torch.load(found / "state.pt", weights_only=True)
    weights, epoch = state["weights"], state["epoch"]
while epoch < EPOCHS:
    time.sleep(SECONDS / world)
    wrong = (inputs @ weights) * labels <= 0
    change = (inputs[wrong] * labels[wrong][:, None]).sum(0)
    errors = wrong.sum()
    dist.all_reduce(change)
    dist.all_reduce(errors)
    weights, epoch = weights + change, epoch + 1
    sluice.report(epoch=epoch, errors=int(errors))
    if rank == 0:
        print(f"epoch {epoch}: {int(errors)} errors on {world} GPUs", flush=True)
    if epoch < EPOCHS and sluice.should_checkpoint():
        with sluice.checkpoint(step=epoch, epoch=epoch) as folder:
            if rank == 0:
                torch.save({"weights": weights, "epoch": epoch}, folder / "state.pt")
if rank == 0:
    out = os.environ["SLUICE_OUTPUT"]
    with open(os.path.join(out, "model.json"), "w", encoding="ascii") as f:
        json.dump(weights.tolist(), f)
    with open(os.path.join(out, "picture.png"), "w", encoding="ascii") as f:
        json.dump(pictures[0], f)  # a picture of the data, which may not leave without a review
sluice.finished()
dist.destroy_process_group()
