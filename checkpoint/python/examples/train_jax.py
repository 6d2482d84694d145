#!/usr/bin/env python3
"""An elastic JAX training of several processes, complete: a linear model learns to
add up. Start it with: srun "$SLUICE" ranks -- python3 train_jax.py

Each process computes its part of the batch, JAX adds the gradients up, and the
processes agree when to save through sluice itself: neither torch nor MPI is there.
"""

import argparse
import os

import jax
import jax.numpy as jnp
import numpy as np
import sluice
from jax.experimental import multihost_utils


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--steps", type=int, default=500)
    p.add_argument("--batch", type=int, default=24)
    p.add_argument("--output", help="where to write what was learned")
    a = p.parse_args()
    world = sluice.world()
    if world.size > 1:
        jax.distributed.initialize(f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}", world.size, world.rank)
    start = sluice.resume()
    weights = np.zeros(8, dtype=np.float32) if start is None else np.load(start / "weights.npy")
    gradient = jax.jit(jax.grad(lambda w, x: ((x @ w - x.sum(axis=1)) ** 2).sum() / a.batch))
    for step in range(0 if start is None else start.step, a.steps):
        inputs = jax.random.normal(jax.random.PRNGKey(step), (a.batch, 8))
        mine = gradient(jnp.asarray(weights), inputs[world.rank :: world.size])
        every = multihost_utils.process_allgather(mine) if world.size > 1 else mine[None]
        weights = weights - 0.05 * np.asarray(every).sum(axis=0)
        if sluice.should_checkpoint():
            with sluice.checkpoint(step=step + 1) as folder:
                if world.rank == 0:
                    np.save(folder / "weights.npy", weights)
        sluice.report(step=step + 1)
    sluice.finished()
    if world.rank == 0:
        print(f"learned {weights.mean():.4f} at {world.size} processes")
        if a.output:
            np.save(a.output, weights)


if __name__ == "__main__":
    main()
