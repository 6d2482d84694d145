#!/usr/bin/env python3
"""A training loop written with Hugging Face Accelerate, complete: a small network
with dropout learns data that it makes itself.
"""

import argparse

import torch
from accelerate import Accelerator
from torch import nn

FEATURES, CLASSES = 32, 4


def make_data(seed, samples):
    """A fixed random network labels random points: something to be learned."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(samples, FEATURES, generator=generator)
    teacher = torch.randn(FEATURES, CLASSES, generator=generator)
    return torch.utils.data.TensorDataset(inputs, (inputs @ teacher).argmax(dim=1))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--samples", type=int, default=970)
    p.add_argument("--batch", type=int, default=48)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--learning-rate", type=float, default=0.05)
    p.add_argument("--cpu", action="store_true")
    a = p.parse_args()
    torch.manual_seed(a.seed)
    accelerator = Accelerator(cpu=a.cpu)
    model = nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=a.learning_rate, momentum=0.9)
    loader = torch.utils.data.DataLoader(make_data(a.seed, a.samples), batch_size=a.batch, shuffle=True, drop_last=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=a.epochs * len(loader))
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for epoch in range(a.epochs):
        for inputs, labels in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(inputs), labels)
                accelerator.backward(loss)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
    accelerator.print(f"finished: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
