"""End a program whose work is saved, before Slurm kills it."""
from __future__ import annotations

import os
import signal
import sys


def quietly() -> bool:
    """Whether the program may be ended without SIGTERM: it does nothing of its own then."""
    return signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def now() -> None:
    """Exit as on SIGTERM, but with code 0 and with all output flushed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass  # closed, full, or none
    os._exit(0)
