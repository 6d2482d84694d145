"""The Hugging Face Trainer: the example, resized."""

import os
import unittest

from .fixture import ResizeCase

# Largest relative difference of a step's loss between sizes: float32 sums in
# another order, carried through the training by Adam. Measured: see the output.
BOUND = 1e-4


class Transformers(ResizeCase):
    program = "transformers_program.py"

    def args(self, *more):
        return ("--epochs=4", "--samples=250", "--batch=24", "--cpu", f"--output={os.path.join(self.base, 'out')}", *more)  # 10 steps an epoch

    def test_resized(self):
        want = self.never_resized(1, *self.args())
        self.assertEqual(len(want), 40)
        for size, step in ((1, 3), (2, 12), (3, 21), (2, 29)):
            self.run_until(step, size, *self.args())
        out = self.run_to_end(1, *self.args())
        self.assertIn("finished after step 40", out)
        got = self.steps()
        self.assertEqual([s[2] for s in got if s[0] in (0, 8, 17, 26, 39)], [1, 2, 3, 2, 1])
        print(f"transformers: largest relative difference {self.assert_same(got, want, BOUND):.1e} over {len(got)} steps, 4 resizes")
        # What sluice alone asked for is not left in the Trainer's folder as well.
        self.assertEqual([n for n in os.listdir(os.path.join(self.base, "out")) if n.startswith("checkpoint-")], [])
        events = [p["event"] for p in self.progress()]
        self.assertIn("hello", events)
        self.assertEqual(events[-1], "finished")


if __name__ == "__main__":
    unittest.main()
