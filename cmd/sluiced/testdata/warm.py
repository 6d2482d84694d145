"""Trains trial after trial of a sweep in one process; each step is a line of its log."""
import argparse
import json
import os
import time

import sluice

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--pause", type=float, default=0.2)
parser.add_argument("--log")
args = parser.parse_args()


def note(what, trial, epoch):
    with open(args.log, "a") as log:
        log.write(f"{what} {trial} {epoch} {os.getpid()} {time.time()}\n")


for trial in sluice.trials():
    with trial:
        print("this is trial", trial.number, flush=True)
        epoch = json.loads((trial.saved / "state.json").read_text())["epoch"] if trial.saved else 0
        while epoch < args.epochs:
            note("begins", trial.number, epoch + 1)
            time.sleep(args.pause)
            epoch += 1
            note("epoch", trial.number, epoch)
            sluice.report(epoch=epoch, score=epoch * (1 - trial.params["x"]))
            if sluice.should_checkpoint():
                with sluice.checkpoint(step=epoch, epoch=epoch) as folder:
                    (folder / "state.json").write_text(json.dumps({"epoch": epoch}))
        note("ends", trial.number, epoch)
