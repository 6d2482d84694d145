"""Orders that tests and demonstrations give the examples; no part of training.

GPU time may be emulated: a step is stretched to some seconds divided by the
number of ranks, on some nodes longer than on others, and the program says so.
"""

import os
import sys
import time

try:
    import sluice  # noqa: F401
except ImportError:  # run from a checkout
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def options(parser):
    """Add the options by which orders are given."""
    t = parser.add_argument_group("for tests and demonstrations")
    t.add_argument("--emulate-step-seconds", type=float, default=0.0, metavar="S",
                   help="stretch every step to S seconds divided by the world size, as if GPUs computed it")
    t.add_argument("--emulate-slow", action="append", default=[], metavar="NODE=TIMES",
                   help="on that node stretch it so many times as long, as if its GPUs were of a slower type; repeat for more")
    t.add_argument("--steps-log", help="append a line for every step: restart epoch step loss world")
    t.add_argument("--checkpoint-every", type=int, default=0, metavar="EPOCHS", help="save by itself, too; 0 = only when asked")
    t.add_argument("--checkpoint-steps", type=int, default=0, metavar="STEPS", help="likewise, after so many steps")
    t.add_argument("--background", action="store_true", help="save by itself in the background")
    t.add_argument("--ignore-requests", action="store_true", help="never save when asked")
    t.add_argument("--exit-on-request", action="store_true", help="exit 0 after saving on request instead of waiting")
    t.add_argument("--save-seconds", type=float, default=0.0, help="make every save take this much longer")
    t.add_argument("--fail-at-step", type=int, metavar="N", help="exit with --exit-code before training step N, counted from 0")
    t.add_argument("--exit-code", type=int, default=1)


class Orders:
    """The orders a training follows; a is what the options said."""

    def __init__(self, a, training):
        self.a, self.training = a, training
        self.first, self.began, self.started, self.loss = training.step, time.monotonic(), 0.0, 0.0
        self.stretched = a.emulate_step_seconds * slowness(a.emulate_slow) / training.size
        training.checkpoint_every = a.checkpoint_steps or a.checkpoint_every * training.steps_per_epoch
        training.background = a.background
        self._ask, training.asked = training.asked, self.asked
        training.capture, self._capture = self.capture, training.capture
        resumed = training.resumed
        self.say(f"{'resumed from ' + str(resumed.path.name) if resumed else 'starts'} on {training.size} GPU(s) at step {training.step}")
        if a.emulate_step_seconds:
            self.say(f"GPU time is emulated: every step is stretched to {a.emulate_step_seconds} s / {training.size} "
                     f"= {a.emulate_step_seconds / training.size:.3f} s")
            for slow in a.emulate_slow:
                self.say(f"A slower type of GPU is emulated: {slow} times as long on that node")

    def say(self, text):
        if self.training.rank == 0:
            print(f"[run {restarts()}] {text}", flush=True)

    def before(self, step):
        self.started = time.monotonic()
        if self.a.fail_at_step == step.number:
            self.say(f"fails before step {step.number}, as ordered")
            sys.exit(self.a.exit_code)

    def after(self, step):
        self.loss = step.loss()
        rest = self.stretched - (time.monotonic() - self.started)
        if rest > 0:
            time.sleep(rest)
        if self.a.steps_log and self.training.rank == 0:
            with open(self.a.steps_log, "a", encoding="utf-8") as f:
                f.write(f"{restarts()} {step.epoch} {step.within} {self.loss:.16g} {self.training.size}\n")
        if step.ends_epoch:
            self.say(f"epoch {step.epoch} steps {self.first}-{step.number} loss {self.loss:.4f} world {self.training.size} "
                     f"seconds {time.monotonic() - self.began:.2f}")
            self.first, self.began = step.number + 1, time.monotonic()

    def asked(self):
        asked = self._ask() and not self.a.ignore_requests
        if asked and self.a.exit_on_request:
            self.training.save(pause=False)
            self.say(f"saved at step {self.training.step} and exits, as ordered")
            import torch.distributed

            torch.distributed.barrier()
            os._exit(0)
        return asked

    def capture(self):
        time.sleep(self.a.save_seconds)
        return self._capture()

    def done(self, model):
        self.say(f"finished after step {self.training.step - 1}: model {checksum(model):.6f}")


def slowness(slow):
    """How many times as long a step takes on this node."""
    times = dict(one.split("=", 1) for one in slow)
    return float(times.get(os.environ.get("SLURMD_NODENAME", ""), 1))


def restarts():
    return int(os.environ.get("SLUICE_RESTARTS") or 0)


def checksum(model):
    """The sum of all weights' sizes: two models that agree in it are equal up to
    rounding, for what a demonstration needs."""
    return sum(p.detach().double().abs().sum().item() for p in model.parameters())
