"""A trial of a sweep: it trains some epochs, each a line of its log, and reports how good it is."""
import argparse
import json
import os
import time

import sluice

parser = argparse.ArgumentParser()
parser.add_argument("--x", type=float)
parser.add_argument("--epochs", type=int, default=6)
parser.add_argument("--log")
parser.add_argument("--slow", type=float, default=1, help="how many times as long the epochs take whose x is above 0.5")
args = parser.parse_args()
assert sluice.params() == {"x": args.x} and float(os.environ["SLUICE_PARAM_X"]) == args.x

saved = sluice.resume()
epoch = json.loads((saved / "state.json").read_text())["epoch"] if saved else 0
while epoch < args.epochs:
    gpus = int(os.environ["SLUICE_GPUS"])
    time.sleep(0.3 * (args.slow if args.x > 0.5 else 1) / gpus)
    epoch += 1
    with open(args.log, "a") as log:
        log.write(f"{os.environ['SLUICE_TRIAL']} {epoch}\n")
    with open(args.log + ".gpus", "a") as log:
        log.write(f"{os.environ['SLUICE_TRIAL']} {gpus}\n")
    sluice.report(epoch=epoch, score=epoch * (1 - args.x))
    if sluice.should_checkpoint():
        with sluice.checkpoint(step=epoch, epoch=epoch) as folder:
            (folder / "state.json").write_text(json.dumps({"epoch": epoch}))
sluice.finished()
