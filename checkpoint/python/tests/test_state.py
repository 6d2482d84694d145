"""States saved in parts: what comes back, what is shared, what is written again."""

import collections
import json
import os
import pickle
import random
import unittest
from unittest import mock

from .fixture import JobCase

import sluice
from sluice import _job, _state, _write

try:
    import torch
except ImportError:
    torch = None

needs_torch = unittest.skipUnless(torch, "NOT TESTED: torch is not installed")
SMALL = {"PIECE": 4096, "OWN": 256}  # sizes at which a small state has many pieces


class Divide(unittest.TestCase):
    def test_every_byte_once(self):
        """Any sizes: the parts of each add up, no piece is too large or shared by
        two large ones, and parts in a piece follow one another."""
        chance = random.Random(4)
        for _ in range(300):
            sizes = [chance.choice([0, 1, 100, 255, 256, 4095, 4096, 4097, 20_000]) for _ in range(chance.randrange(40))]
            with mock.patch.multiple(_state, **SMALL):
                parts, count = _state.divide(sizes)
            ends = collections.Counter()
            for size, its in zip(sizes, parts):
                self.assertEqual(sum(p[2] for p in its), size)
                for number, offset, length in its:
                    self.assertEqual(offset, ends[number])
                    ends[number] += length
            self.assertEqual(sorted(ends), list(range(count)))
            self.assertTrue(all(n <= 4096 for n in ends.values()))

    def test_many(self):
        """A state of any size has a bounded number of files."""
        parts, count = _state.divide([1 << 43])
        self.assertLessEqual(count, _state.MOST)


@needs_torch
class Parts(JobCase):
    def setUp(self):
        super().setUp()
        patch = mock.patch.multiple(_state, **SMALL)
        patch.start()
        self.addCleanup(patch.stop)
        patch = mock.patch.object(_write, "PEEK", 64)
        patch.start()
        self.addCleanup(patch.stop)

    def roundtrip(self, state, **how):
        path = os.path.join(self.base, f"state{len(os.listdir(self.base))}")
        sluice.save(state, path, parts=True)
        return sluice.load(path, **how)

    def test_all_kinds(self):
        base = torch.arange(3000, dtype=torch.float32)
        state = {
            "float": base, "view": base[10:20], "transposed": torch.randn(30, 40).t(), "half": torch.ones(600, dtype=torch.bfloat16),
            "bool": torch.tensor([True, False]), "scalar": torch.tensor(3), "empty": torch.empty(0, 4), "complex": torch.ones(3, dtype=torch.complex64),
            "parameter": torch.nn.Parameter(torch.randn(50)), "frozen": torch.nn.Parameter(torch.randn(5), requires_grad=False),
            "sparse": torch.eye(3).to_sparse(), "plain": [1, "two", (3.0, None)], "nested": collections.OrderedDict(a={"b": torch.zeros(2)}),
            "generator": torch.get_rng_state(),
        }
        back = self.roundtrip(state)
        for name in ("float", "view", "transposed", "half", "bool", "scalar", "empty", "complex", "parameter", "frozen", "generator"):
            self.assertTrue(torch.equal(back[name], state[name]), name)
            self.assertEqual((back[name].dtype, back[name].stride()), (state[name].dtype, state[name].stride()), name)
        self.assertTrue(torch.equal(back["sparse"].to_dense(), torch.eye(3)))
        self.assertEqual(back["plain"], state["plain"])
        self.assertIsInstance(back["nested"], collections.OrderedDict)
        self.assertIsInstance(back["parameter"], torch.nn.Parameter)
        self.assertFalse(back["frozen"].requires_grad)
        back["float"][10] = -1  # what shared memory shares it again
        self.assertEqual(back["view"][0], -1)

    def test_one_tensor_in_two_places(self):
        """Tied weights are one parameter after loading: an optimizer would step two twice."""
        first, second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
        second.weight = first.weight
        back = self.roundtrip(torch.nn.Sequential(first, second))
        self.assertIs(back[0].weight, back[1].weight)
        self.assertEqual(len(list(back.parameters())), 3)

    def test_as_torch_saves(self):
        """A model and its optimizer, beside torch.save's own."""
        model = torch.nn.Sequential(torch.nn.Linear(40, 50), torch.nn.BatchNorm1d(50), torch.nn.Linear(50, 3))
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(8, 40)).sum().backward()
            optimizer.step()
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        plain = os.path.join(self.base, "model.pt")
        sluice.save(state, plain)
        for back in (self.roundtrip(state), sluice.load(plain), torch.load(plain)):
            self.assertEqual(repr(back), repr(state))
        fresh = torch.optim.Adam(model.parameters())
        fresh.load_state_dict(self.roundtrip(state, map_location="cpu")["optimizer"])

    def commit(self, state, step=1):
        with sluice.checkpoint(step=step) as folder:
            sluice.save(state, folder / "state", parts=True)
        return folder

    def inodes(self, folder):
        return {n: os.stat(folder / "state" / n).st_ino for n in os.listdir(folder / "state")}

    def test_unchanged_is_shared(self):
        self.job()
        state = {f"w{i}": torch.full((500,), float(i)) for i in range(6)}
        first = self.commit(state)
        state["w2"][499] += 1  # its last number
        state["w4"][0] += 1
        state["w5"][250] += 1  # neither its first nor its last
        second = self.commit(state, step=2)
        was, now = self.inodes(first), self.inodes(second)
        shared = sorted(n for n in now if was.get(n) == now[n] and n.isdigit())
        self.assertEqual(shared, ["000000", "000001", "000003"])
        for folder, change in ((first, 0), (second, 1)):
            back = sluice.load(folder / "state")
            self.assertEqual([float(back[w][k]) for w, k in (("w2", 499), ("w4", 0), ("w5", 250))], [2 + change, 4 + change, 5 + change])
            for f in self.manifest(folder.name)["files"]:
                self.assertEqual(_job._files._sum(str(folder / f["path"]), "x").sha256, f["sha256"])
        self.assertEqual(os.stat(second / "state" / "000000").st_mode & 0o777, 0o400)

    def test_shared_across_a_restart(self):
        """What a run resumed from was verified; its files serve the first save."""
        self.job()
        state = {"w": torch.zeros(1000), "v": torch.ones(1000)}
        first = self.commit(state)
        self.job(SLUICE_RESUME=str(first))
        state["v"] += 1
        was, now = self.inodes(first), self.inodes(self.commit(state))
        self.assertEqual([was[n] == now[n] for n in ("000000", "000001")], [True, False])

    def test_not_shared(self):
        """Nothing is taken from a checkpoint that is gone, cannot be linked, was
        never committed, or after the runner found one bad."""
        state = {"w": torch.zeros(1000)}
        for case in ("gone", "no links", "uncommitted", "refused"):
            with self.subTest(case):
                self.job()
                first = self.commit(state)
                links = mock.patch("os.link", side_effect=OSError(18, "Invalid cross-device link")) if case == "no links" else None
                if case == "gone":
                    os.unlink(first / "state" / "000000")
                if case == "uncommitted":
                    os.unlink(first / "manifest.json")
                if case == "refused":
                    with open(os.path.join(self.folder, "runner.json"), "w") as f:
                        json.dump({"answer": {"request": "r", "error": "00000001: damaged"}}, f)
                with links or mock.patch("os.curdir", "."):
                    second = self.commit(state)
                self.assertEqual(os.stat(second / "state" / "000000").st_nlink, 1)
                self.assertTrue(torch.equal(sluice.load(second / "state")["w"], state["w"]))

    def test_damaged(self):
        path = os.path.join(self.base, "s")
        sluice.save({"w": torch.zeros(1000)}, path, parts=True)
        os.chmod(os.path.join(path, "000000"), 0o600)
        os.truncate(os.path.join(path, "000000"), 100)
        with self.assertRaises(EOFError):
            sluice.load(path)
        os.chmod(os.path.join(path, "index.json"), 0o600)
        with open(os.path.join(path, "index.json"), "w") as f:
            json.dump({"version": 2}, f)
        with self.assertRaisesRegex(ValueError, "later version"):
            sluice.load(path)

    def test_unpicklable(self):
        with self.assertRaises((pickle.PicklingError, AttributeError, TypeError)):
            sluice.save({"f": lambda: 0}, os.path.join(self.base, "s"), parts=True)


if __name__ == "__main__":
    unittest.main()
