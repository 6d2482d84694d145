#!/usr/bin/env python3
"""An elastic PyTorch DDP training, complete: a small network with dropout learns
data that it makes itself, on CPUs with gloo.

What makes it elastic is marked [elastic]; upstream/train_ddp.py is the same
program without. The result does not depend on the sizes it ran at, up to the
rounding of sums in another order. What has to do with orders exists for tests
and demonstrations; it needs demonstration.py beside this file, the training does not.
"""

import argparse
import importlib.util  # for demonstration
import os
import sys  # for demonstration

demonstration = importlib.import_module("demonstration") if importlib.util.find_spec("demonstration") else None
import sluice.torch  # [elastic]
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
    if demonstration:
        demonstration.options(p)
    elif any(word.startswith("--emulate") for word in sys.argv):  # demonstration
        p.error("--emulate-...: emulating GPU time needs demonstration.py of sluice's examples, in the folder of this file")
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
    training = sluice.torch.Elastic(model, optimizer, scheduler, dataset=data, batch=a.global_batch, epochs=a.epochs, shards=min(12, a.global_batch), seed=a.seed)  # [elastic]
    orders = demonstration.Orders(a, training) if demonstration else None
    for step in training:  # [elastic]
        if orders:
            orders.before(step)
        optimizer.zero_grad()
        for inputs, labels in step:  # [elastic]
            loss = criterion(model(inputs), labels)
            step.backward(loss)  # [elastic]
        optimizer.step()
        scheduler.step()
        if orders:
            orders.after(step)
    if orders:
        orders.done(model)
    if a.output and dist.get_rank() == 0:
        torch.save(model.module.state_dict(), a.output)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
