#!/usr/bin/env python3
"""What should_checkpoint() and report() cost a training step, in microseconds.

    bench/overhead.py [--step SECONDS] [--seconds S] [RANKS ...]

Runs a program of each number of ranks (1, 2 and 4 unless given) in a job's
folder of its own. Each rank sleeps for a step, meets the others in an all_reduce
as data-parallel training does, then calls both. Given is the mean over steps of
the time in the two calls, on the slowest rank, and its share of a 50 ms step.
Sleeping leaves the processors to the library's threads and to gloo's, as training
on GPUs does.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
STEP = 0.05  # seconds; the step that the share is of


def program(step, seconds):
    """One rank: prints its mean and its longest cost in seconds."""
    import torch
    import torch.distributed as dist

    import sluice

    torch.set_num_threads(1)
    size = int(os.environ["WORLD_SIZE"])
    if size > 1:
        dist.init_process_group("gloo")
    gradients = torch.zeros(1)
    warm, steps = int(2 / step), int(seconds / step)
    costs = []
    for n in range(warm + steps):
        time.sleep(step)
        if size > 1:
            dist.all_reduce(gradients)
        began = time.perf_counter()
        sluice.should_checkpoint()
        sluice.report(epoch=n / 1000, step=n)
        if n >= warm:
            costs.append(time.perf_counter() - began)
    costs.sort()
    print(json.dumps({"mean": sum(costs) / steps, "median": costs[steps // 2], "longest": costs[-1]}))
    if size > 1:
        dist.barrier()


def measure(size, step, seconds):
    """The slowest rank's figures."""
    with socket.socket() as s, tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
        s.close()
        env = {**os.environ, "SLUICE_JOB_DIR": folder, "SLUICE_REQUEST": folder + "/request.json", "SLUICE_JOB_ID": "1",
               "SLUICE_CHECKPOINTS": folder + "/checkpoints", "WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1",
               "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1", "PYTHONPATH": os.path.dirname(HERE)}
        command = [sys.executable, __file__, "--step", str(step), "--seconds", str(seconds), "--as-rank"]
        ranks = [subprocess.Popen(command, env={**env, "RANK": str(r)}, stdout=subprocess.PIPE, text=True) for r in range(size)]
        found = []
        for r in ranks:
            out, _ = r.communicate(timeout=60 + 20 * seconds)
            if r.returncode:
                sys.exit(f"a rank of {size} exited with {r.returncode}")
            found.append(json.loads(out.splitlines()[-1]))
        return max(found, key=lambda f: f["mean"])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("ranks", nargs="*", type=int, default=[1, 2, 4])
    p.add_argument("--step", type=float, default=STEP, help="seconds a step takes")
    p.add_argument("--seconds", type=float, default=20.0, help="how long to measure")
    p.add_argument("--as-rank", action="store_true", help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.as_rank:
        program(a.step, a.seconds)
        return
    for size in a.ranks:
        f = measure(size, a.step, a.seconds)
        print(f"overhead of should_checkpoint()+report(), {size} ranks, {a.step * 1e3:g} ms steps: mean {f['mean'] * 1e6:.1f} us "
              f"= {100 * f['mean'] / STEP:.3f} % of a 50 ms step (median {f['median'] * 1e6:.1f} us, longest {f['longest'] * 1e6:.0f} us)", flush=True)


if __name__ == "__main__":
    main()
