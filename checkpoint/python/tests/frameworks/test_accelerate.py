"""Hugging Face Accelerate: the example, resized."""

import unittest

from .fixture import ResizeCase

import sluice.accelerate  # noqa: F401  every run needs this

# Largest relative difference of a step's loss between sizes: float32 sums in
# another order, carried through the training. Measured: 3.1e-8.
BOUND = 1e-5


class Accelerate(ResizeCase):
    program = "accelerate_program.py"
    args = ("--epochs=4", "--samples=490", "--cpu")  # 10 steps an epoch, 10 samples left over

    def test_resized(self):
        want = self.never_resized(1, *self.args)
        self.assertEqual(len(want), 40)
        for size, step in ((1, 3), (2, 12), (3, 21), (2, 29)):
            self.run_until(step, size, *self.args)
        out = self.run_to_end(1, *self.args)
        self.assertIn("finished", out)
        got = self.steps()
        self.assertEqual([s[2] for s in got if s[0] in (0, 9, 18, 27, 39)], [1, 2, 3, 2, 1])
        print(f"accelerate: largest relative difference {self.assert_same(got, want, BOUND):.1e} over {len(got)} steps, 4 resizes")


if __name__ == "__main__":
    unittest.main()
