"""A training on a real GPU, with its steps noted: DDP or FSDP, with dropout and
mixed precision if wanted. All ranks share the first GPU that is visible, since NCCL
refuses two ranks on one GPU they add up through gloo, one rank alone through NCCL."""

import argparse
import os

import notes
import sluice.fsdp
import sluice.torch
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from train_fsdp import CLASSES, FEATURES, make_data

WIDTH = 128


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("kind", choices=("ddp", "fsdp"))
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--samples", type=int, default=480)
    p.add_argument("--mixed", action="store_true", help="float16 with a GradScaler")
    p.add_argument("--every", type=int, default=0, help="save in the background every so many steps")
    return p.parse_args()


def make_model(kind):
    torch.manual_seed(1)
    layers = [nn.Sequential(nn.Linear(size, WIDTH), nn.GELU(), nn.Dropout(0.1)) for size in (FEATURES, WIDTH, WIDTH)]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, CLASSES)).cuda()
    if kind == "ddp":
        return DistributedDataParallel(model)
    mesh = dist.init_device_mesh("cuda", (dist.get_world_size(),))
    for layer in layers:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


class _Noted:
    def between(self, step):
        loss = step.loss()
        if self.rank == 0:
            notes.note(step.number, loss, self.size, self._parts["optimizer"].param_groups[0]["lr"])
        super().between(step)


class DDP(_Noted, sluice.torch.Elastic):
    pass


class FSDP(_Noted, sluice.fsdp.Elastic):
    pass


def main():
    a = arguments()
    torch.use_deterministic_algorithms(True)
    torch.cuda.set_device(0)
    dist.init_process_group("nccl" if os.environ["WORLD_SIZE"] == "1" else "gloo")
    model = make_model(a.kind)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=a.epochs * (a.samples // 48))
    scaler = torch.amp.GradScaler("cuda") if a.mixed else None
    training = (DDP if a.kind == "ddp" else FSDP)(
        model, optimizer, scheduler, dataset=make_data(1, a.samples), batch=48, epochs=a.epochs, shards=12, seed=1, scaler=scaler,
        checkpoint_every=a.every, background=a.every > 0, pin_memory=True)
    for step in training:
        optimizer.zero_grad()
        for inputs, labels in step:
            with torch.autocast("cuda", torch.float16, enabled=a.mixed):
                loss = criterion(model(inputs.cuda(non_blocking=True)), labels.cuda(non_blocking=True))
            step.backward(loss, scaler)
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        scheduler.step()
    if dist.get_rank() == 0:
        print(f"finished: {torch.cuda.get_device_name()}, {dist.get_backend()}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
