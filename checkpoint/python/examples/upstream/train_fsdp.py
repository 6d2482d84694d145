#!/usr/bin/env python3
"""A sharded PyTorch training (FSDP), complete: a small network with dropout learns
data that it makes itself. Every rank holds a part of the model and of the
optimizer's state.

This is the program that ../train_fsdp.py was made elastic from.
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler

FEATURES, CLASSES = 32, 4


def make_data(seed, samples):
    """A fixed random network labels random points: something to be learned."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(samples, FEATURES, generator=generator)
    teacher = torch.randn(FEATURES, CLASSES, generator=generator)
    return torch.utils.data.TensorDataset(inputs, (inputs @ teacher).argmax(dim=1))


def make_model(seed, mesh):
    torch.manual_seed(seed)
    layers = [nn.Sequential(nn.Linear(size, 64), nn.GELU(), nn.Dropout(0.1)) for size in (FEATURES, 64, 64)]
    model = nn.Sequential(*layers, nn.Linear(64, CLASSES))
    for layer in layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--samples", type=int, default=960)
    p.add_argument("--batch", type=int, default=48, help="samples a step on all GPUs together")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--learning-rate", type=float, default=0.01)
    a = p.parse_args()
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}.items():
        os.environ.setdefault(name, value)  # started by hand, as one process
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    if device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    model = make_model(a.seed, dist.init_device_mesh(device, (dist.get_world_size(),)))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=a.learning_rate)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=a.epochs * (a.samples // a.batch))
    data = make_data(a.seed, a.samples)
    sampler = DistributedSampler(data, seed=a.seed, drop_last=True)
    loader = DataLoader(data, a.batch // dist.get_world_size(), sampler=sampler, drop_last=True)
    for epoch in range(a.epochs):
        sampler.set_epoch(epoch)
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs.to(device)), labels.to(device))
            loss.backward()
            optimizer.step()
            scheduler.step()
    if dist.get_rank() == 0:
        print(f"finished: loss {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
