#!/usr/bin/env python3
"""A PyTorch DDP training, complete: a small network with dropout learns data that
it makes itself, on CPUs with gloo.

This is the program that ../train_ddp.py was made elastic from.
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--steps-per-epoch", type=int, default=20)
    p.add_argument("--global-batch", type=int, default=48, help="samples a step on all GPUs together")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--learning-rate", type=float, default=0.05)
    p.add_argument("--double", action="store_true", help="train with float64")
    p.add_argument("--output", help="where to write the finished model")
    a = p.parse_args()
    if a.epochs < 1 or a.steps_per_epoch < 1 or a.global_batch < 1:
        p.error("--epochs, --steps-per-epoch and --global-batch: at least 1")
    return a


FEATURES, CLASSES = 32, 4


def make_data(a):
    """A fixed random network labels random points: something to be learned."""
    generator = torch.Generator().manual_seed(a.seed)
    inputs = torch.randn(a.steps_per_epoch * a.global_batch, FEATURES, generator=generator)
    teacher = torch.randn(FEATURES, CLASSES, generator=generator)
    return torch.utils.data.TensorDataset(inputs, (inputs @ teacher).argmax(dim=1))


def make_model(a):
    torch.manual_seed(a.seed)
    return nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, CLASSES))


def main():
    a = arguments()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64 if a.double else torch.float32)
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}.items():
        os.environ.setdefault(name, value)  # started by hand, as one process
    dist.init_process_group("gloo")
    model = DistributedDataParallel(make_model(a))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=a.learning_rate, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=a.epochs * a.steps_per_epoch)
    data = make_data(a)
    sampler = torch.utils.data.DistributedSampler(data, seed=a.seed, drop_last=True)
    loader = torch.utils.data.DataLoader(data, a.global_batch // dist.get_world_size(), sampler=sampler, drop_last=True)
    for epoch in range(a.epochs):
        sampler.set_epoch(epoch)
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            scheduler.step()
    if a.output and dist.get_rank() == 0:
        torch.save(model.module.state_dict(), a.output)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
