"""Training that takes the time it would take on its GPUs and does nothing else.

usage: live_train.py SPEEDS TOTAL

SPEEDS is a JSON file: the GPUs on each node, such as "4,2", to the seconds of a
unit of work. One process speaks for all GPUs; the files, requests, checkpoints
and progress are those of any training with the library.
"""

import json
import os
import sys
import time

import sluice

STEP = 0.1  # seconds between two looks for a request
SAY = 1.0  # seconds between two reports at least

with open(sys.argv[1], encoding="utf-8") as f:
    speeds = json.load(f)
total = float(sys.argv[2])
split = [share.rpartition(":")[2] for share in os.environ.get("SLUICE_SPLIT", "").split(",")]
pace = speeds[",".join(split)]

done = 0.0
saved = sluice.resume()
if saved:
    done = float((saved / "done").read_text())
sluice.hello()

base, since = done, time.monotonic()
said, told = since, int(done)
while done < total:
    time.sleep(min(STEP, (total - done) * pace))
    now = time.monotonic()
    done = min(total, base + (now - since) / pace)
    if done < total and sluice.should_checkpoint():
        with sluice.checkpoint(step=int(done * 1000), epoch=done) as folder:
            (folder / "done").write_text(repr(done))
        base, since = done, time.monotonic()  # not stopped: it trains on
    if int(done) > told and now - said >= SAY:
        said, told = now, int(done)
        sluice.report(epoch=done)
sluice.finished()
