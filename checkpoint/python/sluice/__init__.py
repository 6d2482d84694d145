"""Make a training program elastic: save when asked, resume at another size.

    import sluice

    saved = sluice.resume()                  # None on the first run
    if saved:
        state = torch.load(saved / "model.pt")

    for step in ...:
        train()
        if sluice.should_checkpoint():       # the same answer on every rank
            with sluice.checkpoint(step=step, epoch=epoch) as folder:
                if sluice.rank() == 0:
                    sluice.save(state, folder / "model.pt")  # torch.save, but see there
        ...
        sluice.report(epoch=epoch)           # once an epoch is enough
    sluice.finished()

should_checkpoint(), checkpoint(), save_dir(), commit(), abandon() and wait() are
collective: in a program of several ranks every rank calls them, in the same
order, whatever else differs between them. A commit that
answers a request waits inside the call until the job is stopped, to go on from
this checkpoint at another size, or until the request is withdrawn and training
continues.

Save a state of several GB in parts, and in the background:

    with sluice.checkpoint(step=step, background=True) as folder:
        if sluice.rank() == 0:
            sluice.save(state, folder / "state", parts=True)  # sluice.load() reads it

Training then continues while it is written; only a checkpoint that sluice waits for is
written at once, and of that only what has changed since the last checkpoint.

Outside a sluice job all of these functions do nothing:
should_checkpoint() is False, resume() is None, checkpoint() gives a temporary
folder. Nothing but the standard library is needed; ranks agree through torch or
mpi4py, whichever the program has imported.
"""

from ._api import (
    abandon,
    accumulation_steps,
    active,
    checkpoint,
    commit,
    finished,
    hello,
    load,
    params,
    rank,
    report,
    resume,
    save,
    save_dir,
    should_checkpoint,
    wait,
    world,
)
from ._files import Checkpoint
from ._trials import Trial, trials
from ._world import World

__all__ = [
    "Checkpoint",
    "Trial",
    "World",
    "abandon",
    "accumulation_steps",
    "active",
    "checkpoint",
    "commit",
    "finished",
    "hello",
    "load",
    "params",
    "rank",
    "report",
    "resume",
    "save",
    "save_dir",
    "should_checkpoint",
    "trials",
    "wait",
    "world",
]
__version__ = "1.0"
