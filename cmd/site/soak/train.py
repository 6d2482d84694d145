"""An emulated training for the soak: one process whatever the GPUs; a step takes
SECONDS divided by them and nothing of the CPU."""
import json
import os
import sys
import time

import sluice

log, epochs, per_epoch, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
world = int(os.environ.get("SLUICE_GPUS", "1"))
restart = int(os.environ.get("SLUICE_RESTARTS", "0"))
at = 0
found = sluice.resume()
if found:
    with open(os.path.join(str(found), "at.json")) as f:
        at = json.load(f)["at"]
while at < epochs * per_epoch:
    time.sleep(seconds / world)
    with open(log, "a") as f:
        f.write("%d %d %d 0.0 %d\n" % (restart, at // per_epoch, at % per_epoch, world))
    at += 1
    if sluice.should_checkpoint():
        with sluice.checkpoint(step=at, epoch=at / per_epoch) as d:
            with open(os.path.join(str(d), "at.json"), "w") as f:
                json.dump({"at": at}, f)
    if at % per_epoch == 0:
        sluice.report(epoch=at / per_epoch)
sluice.finished()
