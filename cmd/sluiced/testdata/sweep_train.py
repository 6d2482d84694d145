"""A small real training, as one trial of a sweep: a PyTorch network that learns which of two spirals a point is on.

The training is real. The time of an epoch on a GPU is emulated: the program sleeps for the rest of --epoch-seconds.
With --plain it runs without sluice, as an element of an ordinary job array. Each epoch is a line of --log: the time,
the trial, the epoch, the accuracy on points that it does not train on."""
import argparse
import math
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--turns", type=float, required=True, help="of the spirals: more are harder")
parser.add_argument("--lr", type=float, required=True)
parser.add_argument("--width", type=int, required=True)
parser.add_argument("--momentum", type=float, required=True)
parser.add_argument("--trial", type=int, required=True)
parser.add_argument("--epochs", type=int, required=True)
parser.add_argument("--epoch-seconds", type=float, required=True)
parser.add_argument("--log", required=True)
parser.add_argument("--plain", action="store_true")
args = parser.parse_args()
if not args.plain:
    import sluice
torch.set_num_threads(1)


def points(seed, n=400):
    draw = torch.Generator().manual_seed(seed)
    label = torch.randint(0, 2, (n,), generator=draw)
    radius = torch.rand(n, generator=draw)
    angle = 2 * math.pi * args.turns * radius + math.pi * label
    place = torch.stack([radius * angle.cos(), radius * angle.sin()], 1)
    return 2 * (place + 0.01 * torch.randn(n, 2, generator=draw)), label


torch.manual_seed(args.trial)
train, test = points(1), points(2)
model = torch.nn.Sequential(
    torch.nn.Linear(2, args.width), torch.nn.Tanh(), torch.nn.Linear(args.width, args.width), torch.nn.Tanh(), torch.nn.Linear(args.width, 2)
)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)
epoch = 0
if not args.plain and (saved := sluice.resume()):
    state = torch.load(saved / "state.pt")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    epoch = state["epoch"]
while epoch < args.epochs:
    began = time.monotonic()
    for _ in range(4):
        for batch in torch.randperm(len(train[0])).split(20):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(train[0][batch]), train[1][batch]).backward()
            optimizer.step()
    with torch.no_grad():
        accuracy = (model(test[0]).argmax(1) == test[1]).float().mean().item()
    time.sleep(max(0.0, args.epoch_seconds - (time.monotonic() - began)))
    epoch += 1
    with open(args.log, "a", encoding="ascii") as log:
        log.write(f"{time.time():.3f} {args.trial} {epoch} {accuracy:.6f}\n")
    if args.plain:
        continue
    sluice.report(epoch=epoch, accuracy=accuracy)
    if epoch < args.epochs and sluice.should_checkpoint():
        with sluice.checkpoint(step=epoch, epoch=epoch) as folder:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, folder / "state.pt")
if not args.plain:
    sluice.finished()
