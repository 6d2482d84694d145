"""A training loop without a framework, for tests: it works in steps, says what it
did, and can be told to misbehave. One process whatever the GPUs; a step takes
--seconds divided by them, but for the part --serial."""
import argparse
import json
import os
import sys
import time

import sluice

p = argparse.ArgumentParser()
p.add_argument("--epochs", type=int, default=1000)
p.add_argument("--steps-per-epoch", type=int, default=4)
p.add_argument("--seconds", type=float, default=1.0, help="of a step on one GPU")
p.add_argument("--serial", type=float, default=0.0, help="part of a step that more GPUs do not speed up")
p.add_argument("--steps-log", required=True)
p.add_argument("--ignore", action="store_true", help="never answer a request")
p.add_argument("--exit-on-request", type=int, help="exit with this code instead of saving")
p.add_argument("--fail-at", type=int, help="exit 3 at this step")
p.add_argument("--fail-on", type=int, help="exit 3 at once if the run has this many GPUs")
p.add_argument("--slow", action="append", default=[], metavar="NODE=TIMES", help="so many times as slow on that node")
p.add_argument("--save-seconds", type=float, default=0.0)
p.add_argument("--write-seconds", type=float, default=0.0, help="of a save, while its files are written")
a = p.parse_args()

world = int(os.environ.get("SLUICE_GPUS", "1"))
restart = int(os.environ.get("SLUICE_RESTARTS", "0"))
for node, times in (s.split("=") for s in a.slow):
    if node == os.environ.get("SLURMD_NODENAME"):
        a.seconds *= float(times)
at = 0
if world == a.fail_on:
    sys.exit(3)
found = sluice.resume()
if found:
    with open(os.path.join(str(found), "at.json")) as f:
        at = json.load(f)["at"]

total = a.epochs * a.steps_per_epoch
while at < total:
    if a.fail_at is not None and at >= a.fail_at:
        sys.exit(3)
    time.sleep(a.seconds * (a.serial + (1 - a.serial) / world))
    with open(a.steps_log, "a") as f:
        f.write("%d %d %d 0.0 %d\n" % (restart, at // a.steps_per_epoch, at % a.steps_per_epoch, world))
    at += 1
    epoch = at / a.steps_per_epoch
    if not a.ignore and sluice.should_checkpoint():
        if a.exit_on_request is not None:
            sys.exit(a.exit_on_request)
        time.sleep(a.save_seconds)
        with sluice.checkpoint(step=at, epoch=epoch) as d:
            with open(os.path.join(str(d), "at.json"), "w") as f:
                json.dump({"at": at}, f)
            time.sleep(a.write_seconds)
    if at % a.steps_per_epoch == 0:
        sluice.report(epoch=epoch)
sluice.finished()
