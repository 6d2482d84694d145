"""Trainings on a real GPU: DDP and FSDP, stopped and resized."""

import os
import unittest

from .fixture import ResizeCase

import torch

# Largest relative difference of a step's loss between numbers of ranks: float32 sums in
# another order, carried through the training.
BOUND = 1e-5
MIXED = 5e-3  # with float16, whose sums differ in the third digit


def real():
    """Whether there is a GPU; asked without CUDA, which does not survive a fork."""
    return torch.backends.cuda.is_built() and any(os.path.exists(f"/dev/nvidia{n}") for n in range(16))


@unittest.skipUnless(real(), "NOT TESTED: a real GPU; this machine has none, or its torch has no CUDA")
class OnGPU(ResizeCase):
    program = "gpu_program.py"

    def start(self, size, *args, **more):
        return super().start(size, *args, CUDA_VISIBLE_DEVICES="0", CUBLAS_WORKSPACE_CONFIG=":4096:8", **more)

    def resized(self, kind, sizes, bound, *args):
        """A training that is stopped and goes on at other sizes, beside one that is not."""
        want = self.never_resized(sizes[0], kind, *args)
        self.assertEqual(len(want), 50)
        for step, size in zip(range(7, 50, 9), sizes[:-1]):
            self.run_until(step, size, kind, *args)
        said = self.run_to_end(sizes[-1], kind, *args)
        got = self.steps()
        self.assertEqual({s[2] for s in got}, set(sizes))
        found = [line for line in said.splitlines() if line.startswith("finished")]
        self.assertEqual(len(found), 1, said)
        print(f"{kind} at {sizes} {args}: largest relative difference {self.assert_same(got, want, bound):.1e}; {found[0]}")

    def test_ddp_again(self):
        """One rank with NCCL, stopped three times: the very same numbers."""
        self.resized("ddp", (1, 1, 1, 1), 1e-12)

    def test_ddp_resized(self):
        self.resized("ddp", (1, 2, 4, 3, 1), BOUND)

    def test_ddp_mixed(self):
        self.resized("ddp", (1, 2, 4, 1), MIXED, "--mixed")

    def test_ddp_background(self):
        """Copied out of the GPU's memory and written while training goes on."""
        self.resized("ddp", (1, 2, 1), BOUND, "--every=3")

    def test_fsdp_again(self):
        self.resized("fsdp", (1, 1, 1, 1), 1e-12)

    def test_fsdp_resized(self):
        self.resized("fsdp", (1, 2, 4, 3, 1), BOUND)


if __name__ == "__main__":
    unittest.main()
