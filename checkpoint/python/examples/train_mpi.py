#!/usr/bin/env python3
"""An elastic MPI program, complete: data-parallel linear regression over mpi4py.

What makes it elastic is marked [elastic]; upstream/train_mpi.py is the same
program without. Every step's work is cut into a fixed number of shards, each with
random numbers of its own, so that the result does not depend on the number of
ranks, up to the rounding of sums in another order.
"""

import argparse
import time

import numpy as np
from mpi4py import MPI
import sluice  # [elastic]

SHARDS, SAMPLES, FEATURES = 12, 8, 16


def gradient(weights, truth, step, shard):
    """The gradient of a shard's squared error, and the error."""
    generator = np.random.default_rng((step, shard))
    inputs = generator.normal(size=(SAMPLES, FEATURES))
    wrong = inputs @ weights - inputs @ truth
    return inputs.T @ wrong, wrong @ wrong


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--rate", type=float, default=0.001)
    p.add_argument("--step-seconds", type=float, default=0.0, help="wait so long in every step, for demonstrations")
    p.add_argument("--log", help="append a line for every step: step loss ranks")
    a = p.parse_args()
    world = MPI.COMM_WORLD
    truth = np.random.default_rng(0).normal(size=FEATURES)
    weights = np.zeros(FEATURES)
    saved = sluice.resume()  # [elastic]
    if saved:  # [elastic]
        weights = np.load(saved / "weights.npy")  # [elastic]
    for step in range(int(saved.step) if saved else 0, a.steps):  # [elastic]
        mine = np.zeros(FEATURES + 1)
        for shard in range(world.rank, SHARDS, world.size):
            slope, error = gradient(weights, truth, step, shard)
            mine[:FEATURES] += slope
            mine[FEATURES] += error
        total = np.empty_like(mine)
        world.Allreduce(mine, total)
        weights -= a.rate * total[:FEATURES]
        time.sleep(a.step_seconds)
        if a.log and world.rank == 0:
            with open(a.log, "a", encoding="utf-8") as f:
                f.write(f"{step} {total[FEATURES]:.17g} {world.size}\n")
        sluice.report(step=step + 1)  # [elastic]
        if sluice.should_checkpoint():  # [elastic]
            with sluice.checkpoint(step=step + 1) as folder:  # [elastic]
                if world.rank == 0:  # [elastic]
                    np.save(folder / "weights.npy", weights)  # [elastic]
    if world.rank == 0:
        print(f"finished after {a.steps} steps on {world.size} rank(s): error {np.abs(weights - truth).max():.3g}", flush=True)
    sluice.finished()  # [elastic]


if __name__ == "__main__":
    main()
