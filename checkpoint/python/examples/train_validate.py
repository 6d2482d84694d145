#!/usr/bin/env python3
"""A DDP training with what programs usually have: validation after each epoch, a
schedule by epoch, meters, and the best model so far.

upstream/train_validate.py is the same program before it became elastic. Its meters,
its loaders and its own checkpoints are gone: sluice.torch has them, and what was
counted so far in the middle of an epoch is not lost when the job is resized.
"""

import argparse
import os

import sluice.torch  # [elastic]
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FEATURES, CLASSES = 32, 4


def make_data(seed, samples):
    """A fixed random network labels random points: something to be learned."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(samples, FEATURES, generator=generator)
    teacher = torch.randn(FEATURES, CLASSES, generator=torch.Generator().manual_seed(0))
    return torch.utils.data.TensorDataset(inputs, (inputs @ teacher).argmax(dim=1))


def accuracy(found, labels):
    return (found.argmax(dim=1) == labels).float().mean()


def train(model, training, criterion, optimizer):  # [elastic]
    model.train()
    for step in training.steps():  # [elastic]
        optimizer.zero_grad()
        for inputs, labels in step:  # [elastic]
            found = model(inputs)
            loss = criterion(found, labels)
            step.backward(loss)  # [elastic]
            step.track(accuracy=accuracy(found, labels))  # [elastic]
        optimizer.step()
    means = training.means()  # [elastic]
    return means["loss"], means["accuracy"]  # [elastic]


def validate(model, training, held_out, criterion):  # [elastic]
    def measure(inputs, labels):  # [elastic]
        found = model(inputs)
        return {"loss": criterion(found, labels), "accuracy": accuracy(found, labels)}  # [elastic]
    scores = training.validate(held_out, measure)  # [elastic]
    return scores["loss"], scores["accuracy"]  # [elastic]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--batch", type=int, default=48)
    p.add_argument("--samples", type=int, default=960)
    p.add_argument("--output", default="best.pt")
    a = p.parse_args()
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}.items():
        os.environ.setdefault(name, value)  # started by hand, as one process
    dist.init_process_group("gloo")
    rank = dist.get_rank()  # [elastic]
    torch.manual_seed(1)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, CLASSES)))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    data, held_out = make_data(1, a.samples), make_data(2, 200)
    training = sluice.torch.Elastic(model, optimizer, scheduler, dataset=data, batch=a.batch, epochs=a.epochs, shards=12)  # [elastic]
    for epoch in training.epochs():  # [elastic]
        loss, right = train(model, training, criterion, optimizer)  # [elastic]
        scheduler.step()
        val_loss, val_right = validate(model, training, held_out, criterion)  # [elastic]
        best = training.best(val_right)  # [elastic]
        if rank == 0:
            print(f"epoch {epoch}: loss {loss:.4f} accuracy {right:.4f}, validation {val_loss:.4f} {val_right:.4f}")
            if best:  # [elastic]
                torch.save(model.module.state_dict(), a.output)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
