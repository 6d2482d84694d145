#!/usr/bin/env python3
"""What saving a state of several GB costs, beside the usual tools.

    bench/save.py [--gb 2] [--repeats 3] [--folder DIR] [all|commit|background|delta]

commit      sluice.save() and commit, in one file and in parts, against cp, sync
            and sha256sum of the same bytes
background  seconds a save in the background blocks training, against torch.save
            with fsync
delta       seconds a save that sluice waits for blocks, when nine tenths of the
            tensors have not changed since the last, against all of them changed

Every repeat writes new files, with what it reads in the page cache: the tensors
are in memory, and cp reads a file written just before. Each side is flushed to
disk before its clock stops, and the disk is idle when it starts. Given are the
median and all repeats. On the CPU; with CUDA the copies to host are added, which
is not measured here.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import torch  # noqa: E402

import sluice  # noqa: E402

TENSORS = 64


def state_of(gigabytes):
    """Random numbers: no file system compresses them."""
    each = int(gigabytes * 2**30 / 4 / TENSORS)
    return {f"w{i}": torch.rand(each) for i in range(TENSORS)}


def timed(do):
    os.sync()
    began = time.monotonic()
    do()
    return time.monotonic() - began


def torch_save(state, path):
    """The program's own, made safe against a crash as a checkpoint has to be."""
    with open(path, "wb") as f:
        torch.save(state, f)
        f.flush()
        os.fsync(f.fileno())


def foreground(state, parts):
    with sluice.checkpoint(step=1) as folder:
        sluice.save(state, folder / "state", parts=parts)
    return folder


def gone(folder):
    """Remove a checkpoint, so that none is shared with the next."""
    shutil.rmtree(folder)


def commit(state, folder, repeats):
    """Ratio to cp, sync and sha256sum."""
    fast = shutil.which("openssl")  # coreutils' own does without the processor's instructions for it
    found = {"cp+sync+sha256sum": [], "cp+sync+openssl sha256": [], "cp+sha256sum, not flushed": [], "torch.save+fsync": [], "save+commit, one file": [], "save+commit, parts": []}
    source, copy = os.path.join(folder, "source.pt"), os.path.join(folder, "copy.pt")
    for _ in range(repeats):
        found["torch.save+fsync"].append(timed(lambda: torch_save(state, source)))
        found["cp+sha256sum, not flushed"].append(timed(lambda: (run("cp", source, copy), run("sha256sum", copy))))
        os.unlink(copy)
        found["cp+sync+sha256sum"].append(timed(lambda: (run("cp", source, copy), run("sync", copy), run("sha256sum", copy))))
        os.unlink(copy)
        if fast:
            both = lambda: (run("cp", source, copy), run("sync", copy), run(fast, "dgst", "-sha256", copy))  # noqa: E731
            found["cp+sync+openssl sha256"].append(timed(both))
            os.unlink(copy)
        os.unlink(source)
        for parts, name in ((False, "save+commit, one file"), (True, "save+commit, parts")):
            saved = []
            found[name].append(timed(lambda: saved.append(foreground(state, parts))))
            gone(saved[0])
    base = statistics.median(found["cp+sync+sha256sum"])
    for name, seconds in ((n, s) for n, s in found.items() if s):
        say(f"commit: {name}", seconds, f"ratio to cp+sync+sha256sum {statistics.median(seconds) / base:.2f}")


def background(state, folder, repeats):
    """Blocked by a save in the background; and how training fares beside it."""
    own, blocked, whole, first, pace = [], {}, {}, {}, {}
    for _ in range(repeats):
        path = os.path.join(folder, "own.pt")
        own.append(timed(lambda: torch_save(state, path)))
        os.unlink(path)
    say("background: blocked by torch.save+fsync", own)
    for parts in (False, True):
        blocked, whole, stall = [], [], []
        for n in range(repeats + 1):
            os.sync()
            began = time.monotonic()
            with sluice.checkpoint(step=n, background=True) as saved:
                sluice.save(state, saved / "state", parts=parts)
            block = time.monotonic() - began
            longest = longest_pause(lambda: not (saved / "manifest.json").exists())
            sluice.wait()
            if n:  # the first one gets the memory
                blocked.append(block)
                stall.append(longest)
                whole.append(time.monotonic() - began)
            else:
                first = block
            state["w0"] += 1
            gone(saved)
        name = "parts" if parts else "one file"
        say(f"background: blocked by sluice, {name}", blocked, f"ratio {statistics.median(blocked) / statistics.median(own):.3f}; the first time {first:.2f} s")
        say(f"background: until committed, {name}", whole)
        say(f"background: longest pause of a Python thread beside it, {name}", stall)


def longest_pause(while_):
    """Seconds between two turns of a loop that steps and sleeps 1 ms, at most."""
    longest, last = 0.0, time.monotonic()
    while while_():
        sluice.should_checkpoint()
        time.sleep(0.001)
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    return longest


def delta(state, folder, repeats):
    """Blocked on request, with nine tenths unchanged and with nothing unchanged."""
    request = os.environ["SLUICE_REQUEST"]
    for share, name in ((0.1, "a tenth changed"), (1.0, "all changed")):
        seconds = []
        for n in range(repeats):
            with sluice.checkpoint(step=n, background=True) as saved:
                sluice.save(state, saved / "state", parts=True)
            sluice.wait()
            for i in range(max(1, round(share * TENSORS))):
                state[f"w{i}"] += 1
            with open(request, "w") as f:
                f.write('{"request": "r%d"}' % n)
            while not sluice.should_checkpoint():
                time.sleep(0.01)
            seconds.append(timed(lambda: answer(state, n)))
            os.unlink(request)
            time.sleep(1)
            shutil.rmtree(os.environ["SLUICE_CHECKPOINTS"])
        say(f"delta: blocked on request, {name}", seconds)


def answer(state, step):
    with sluice.checkpoint(step=step, pause=False) as folder:
        sluice.save(state, folder / "state", parts=True)


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def say(what, seconds, more=""):
    every = ", ".join(f"{s:.2f}" for s in seconds)
    print(f"{what}: {statistics.median(seconds):.2f} s ({every}){'; ' + more if more else ''}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", nargs="?", default="all", choices=["all", "commit", "background", "delta"])
    p.add_argument("--gb", type=float, default=2.0, help="size of the state in GiB")
    p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--folder", help="where to write; a temporary folder is made there")
    a = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", dir=a.folder) as folder:
        os.environ.update(SLUICE_JOB_DIR=folder, SLUICE_REQUEST=folder + "/request.json", SLUICE_JOB_ID="1",
                          SLUICE_CHECKPOINTS=folder + "/checkpoints", SLUICE_RESUME="", SLUICE_RESTARTS="0")
        state = state_of(a.gb)
        print(f"{a.gb:g} GiB in {TENSORS} tensors, {a.repeats} repeats, in {os.path.dirname(folder)}, torch {torch.__version__}, "
              f"{len(os.sched_getaffinity(0))} processors, {threading.active_count()} threads", flush=True)
        for name, measure in (("commit", commit), ("background", background), ("delta", delta)):
            if a.what in ("all", name):
                measure(state, folder, a.repeats)


if __name__ == "__main__":
    main()
