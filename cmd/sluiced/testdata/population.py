"""A member of a population: its score is the sum of its x over all epochs, so a copy has its parent's."""
import glob
import json
import os
import sys
import time

import sluice

epochs = 39
saved = sluice.resume()
state = json.loads((saved / "state.json").read_text()) if saved else {"epoch": 0, "score": 0.0}
open(f"{sys.argv[1]}.{os.environ['SLUICE_TRIAL']}", "w").close()
while len(glob.glob(sys.argv[1] + ".*")) < 4:  # the population starts together
    time.sleep(0.1)
while state["epoch"] < epochs:
    time.sleep(0.3)
    state = {"epoch": state["epoch"] + 1, "score": state["score"] + sluice.params()["x"]}
    sluice.report(epoch=state["epoch"], score=state["score"])
    if sluice.should_checkpoint():
        with sluice.checkpoint(step=state["epoch"], epoch=state["epoch"]) as folder:
            (folder / "state.json").write_text(json.dumps(state))
sluice.finished()
