#!/usr/bin/env python3
"""An elastic PyTorch DDP training, complete: a small network learns data that it
makes itself, on CPUs with gloo.

What makes it elastic is marked [elastic]: it resumes, saves when asked, and
keeps the global batch the same on any number of GPUs. The order of the data
depends on the seed and the epoch only, so the result does not depend on the
sizes it ran at, up to the rounding of sums in another order.

The options below the line exist for tests and demonstrations.
"""

import argparse
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

try:
    import sluice
except ImportError:  # run from a checkout
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    import sluice


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--steps-per-epoch", type=int, default=20)
    p.add_argument("--global-batch", type=int, default=48, help="samples a step on all GPUs together")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--learning-rate", type=float, default=0.05)
    p.add_argument("--checkpoint-every", type=int, default=0, metavar="EPOCHS", help="save by itself, too; 0 = only when asked")
    p.add_argument("--output", help="where to write the finished model")
    t = p.add_argument_group("for tests and demonstrations")
    t.add_argument("--emulate-step-seconds", type=float, default=0.0, metavar="S",
                   help="stretch every step to S seconds divided by the world size, as if GPUs computed it")
    t.add_argument("--steps-log", help="append a line for every step: restart epoch step loss world")
    t.add_argument("--ignore-requests", action="store_true", help="never save when asked")
    t.add_argument("--exit-on-request", action="store_true", help="exit 0 after saving on request instead of waiting")
    t.add_argument("--save-seconds", type=float, default=0.0, help="make every save take this much longer")
    t.add_argument("--fail-at-step", type=int, metavar="N", help="exit with --exit-code before training step N, counted from 0")
    t.add_argument("--exit-code", type=int, default=1)
    a = p.parse_args()
    if a.epochs < 1 or a.steps_per_epoch < 1 or a.global_batch < 1:
        p.error("--epochs, --steps-per-epoch and --global-batch: at least 1")
    return a


FEATURES, CLASSES = 32, 4


def make_data(a):
    """A fixed random network labels random points: something to be learned."""
    generator = torch.Generator().manual_seed(a.seed)
    samples = a.steps_per_epoch * a.global_batch
    inputs = torch.randn(samples, FEATURES, generator=generator)
    teacher = torch.randn(FEATURES, CLASSES, generator=generator)
    return inputs, (inputs @ teacher).argmax(dim=1)


def make_model(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, CLASSES))


def batch(a, epoch, step, rank, world):
    """This rank's samples of a step. All ranks' together are the same at every
    world size: [elastic]."""
    order = torch.randperm(a.steps_per_epoch * a.global_batch, generator=torch.Generator().manual_seed(a.seed * 100_003 + epoch))
    return order[step * a.global_batch : (step + 1) * a.global_batch][rank::world]


class Training:
    def __init__(self, a):
        self.a = a
        self.rank, self.world = sluice.world().rank, sluice.world().size
        self.inputs, self.labels = make_data(a)
        self.model = make_model(a.seed)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=a.learning_rate, momentum=0.9)
        self.step = 0  # steps finished, in all
        saved = sluice.resume()  # [elastic]
        if saved:
            state = torch.load(str(saved / "model.pt"), map_location="cpu")
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step = state["step"]
        self.ddp = DistributedDataParallel(self.model)
        self.say(f"{'resumed from ' + str(saved.path.name) if saved else 'starts'} on {self.world} GPU(s) at step {self.step}")
        if a.emulate_step_seconds:
            self.say(f"GPU time is emulated: every step is stretched to {a.emulate_step_seconds} s / {self.world} "
                     f"= {a.emulate_step_seconds / self.world:.3f} s")

    def say(self, text):
        if self.rank == 0:
            print(f"[run {restarts()}] {text}", flush=True)

    def run(self):
        a = self.a
        total, began, first = a.epochs * a.steps_per_epoch, time.monotonic(), self.step
        while self.step < total:
            epoch, step = divmod(self.step, a.steps_per_epoch)
            if a.fail_at_step == self.step:
                self.say(f"fails before step {self.step}, as ordered")
                sys.exit(a.exit_code)
            loss = self.train(epoch, step)
            self.log(epoch, step, loss)
            self.step += 1
            if self.step % a.steps_per_epoch == 0:
                self.epoch_ends(epoch, loss, began, first)
                began, first = time.monotonic(), self.step
            if self.step < total and sluice_asks(a):  # [elastic]
                self.save(on_request=True)
        self.finish()

    def train(self, epoch, step):
        """One step. The loss is the mean over the global batch: DDP averages over
        ranks, whose shares may differ by one sample."""
        began = time.monotonic()
        mine = batch(self.a, epoch, step, self.rank, self.world)
        self.optimizer.zero_grad()
        losses = nn.functional.cross_entropy(self.ddp(self.inputs[mine]), self.labels[mine], reduction="sum")
        loss = losses / self.a.global_batch
        (loss * self.world).backward()
        self.optimizer.step()
        shared = loss.detach().clone()
        dist.all_reduce(shared)
        rest = self.a.emulate_step_seconds / self.world - (time.monotonic() - began)
        if rest > 0:
            time.sleep(rest)
        return shared.item()

    def log(self, epoch, step, loss):
        if self.a.steps_log and self.rank == 0:
            with open(self.a.steps_log, "a", encoding="utf-8") as f:
                f.write(f"{restarts()} {epoch} {step} {loss:.6f} {self.world}\n")

    def epoch_ends(self, epoch, loss, began, first):
        self.say(f"epoch {epoch} steps {first}-{self.step - 1} loss {loss:.4f} world {self.world} seconds {time.monotonic() - began:.2f}")
        sluice.report(epoch=epoch + 1, step=self.step, metric={"loss": loss})  # [elastic]
        every = self.a.checkpoint_every
        if every and (epoch + 1) % every == 0 and epoch + 1 < self.a.epochs:
            self.save(on_request=False)

    def save(self, on_request):
        """Model, optimizer and place in the data: all that a step depends on."""
        leave = on_request and self.a.exit_on_request
        with sluice.checkpoint(step=self.step, epoch=self.step / self.a.steps_per_epoch, pause=not leave) as folder:
            time.sleep(self.a.save_seconds)
            if self.rank == 0:
                sluice.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "step": self.step},
                            folder / "model.pt")
        if leave:
            self.say(f"saved at step {self.step} and exits, as ordered")
            dist.barrier()
            os._exit(0)

    def finish(self):
        self.say(f"finished after step {self.step - 1}: model {checksum(self.model):.6f}")
        if self.a.output and self.rank == 0:
            sluice.save(self.model.state_dict(), self.a.output)
        sluice.finished()  # [elastic]


def sluice_asks(a):
    """Whether to save now: the same answer on every rank."""
    asked = sluice.should_checkpoint()
    return asked and not a.ignore_requests


def restarts():
    return int(os.environ.get("SLUICE_RESTARTS") or 0)


def checksum(model):
    """The sum of all weights' sizes: two models that agree in it are equal up to
    rounding, for what a demonstration needs."""
    return sum(p.detach().double().abs().sum().item() for p in model.parameters())


def main():
    a = arguments()
    torch.set_num_threads(1)
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}.items():
        os.environ.setdefault(name, value)  # started by hand, as one process
    if a.global_batch < int(os.environ["WORLD_SIZE"]):
        sys.exit(f"--global-batch {a.global_batch}: at least one sample for each of {os.environ['WORLD_SIZE']} GPUs")
    dist.init_process_group("gloo")
    Training(a).run()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
