"""Checkpoints that others could have written: what is loaded of them, and what is not."""

import collections
import os
import unittest

from .fixture import JobCase, write

import sluice
from sluice import _trust

try:
    import torch
except ImportError:
    torch = None

needs_torch = unittest.skipUnless(torch, "NOT TESTED: torch is not installed")


RAN = []


def run(word):
    """What a hostile state has run when it is unpickled."""
    RAN.append(word)


class Payload:
    def __reduce__(self):
        return run, ("code",)


class Doubt(JobCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.base, 0o755)  # others may come as far as this
        self.open = os.path.join(self.base, "open")
        os.mkdir(self.open)
        os.chmod(self.open, 0o755)
        self.file = os.path.join(self.open, "state.pt")
        write(self.file, "x")
        os.chmod(self.file, 0o644)

    def doubted(self, word, path=None):
        self.assertIn(word, _trust.doubt(path or self.file))

    def test_own(self):
        self.assertEqual(_trust.doubt(self.file), "")
        self.assertEqual(_trust.doubt(self.open), "")

    def test_modes(self):
        os.chmod(self.file, 0o664)
        self.doubted("0664")
        self.doubted("0664", self.open)  # the folder with all that is in it
        os.chmod(self.open, 0o700)  # not accessible to others
        self.assertEqual(_trust.doubt(self.file), "")
        os.chmod(self.file, 0o644)
        os.chmod(self.open, 0o777)
        self.doubted("0777")
        os.chmod(self.open, 0o1777)  # what is in it can only be added to
        self.assertEqual(_trust.doubt(self.file), "")

    def test_above(self):
        os.chmod(self.base, 0o775)
        self.doubted("0775")
        self.assertEqual(_trust.doubt(self.file, trusted=self.open), "")
        self.assertEqual(_trust.doubt(self.open, trusted=self.open), "")
        self.assertIn("0775", _trust.doubt(self.file, trusted=os.path.join(self.base, "op")))

    def test_links(self):
        link = os.path.join(self.base, "link")
        os.symlink(self.file, link)
        self.assertEqual(_trust.doubt(link), "")
        os.chmod(self.open, 0o777)
        self.doubted("0777", link)

    @unittest.skipUnless(os.geteuid() == 0, "NOT TESTED: needs root")
    def test_owner(self):
        os.chown(self.file, 12345, -1)
        self.doubted("user 12345")
        os.chown(self.file, 0, -1)
        os.chown(self.open, 12345, -1)
        self.doubted("user 12345")

    def test_resume(self):
        """Nothing is resumed that others could have written, however it is loaded."""
        self.job()
        with sluice.checkpoint(step=1) as folder:
            write(folder / "model")
        self.job(SLUICE_RESUME=str(folder))
        for path in (self.folder, self.checkpoints, str(folder)):
            os.chmod(path, 0o755)
        sluice.resume()
        os.chmod(folder / "model", 0o666)
        self.job(SLUICE_RESUME=str(folder))
        with self.assertRaisesRegex(PermissionError, "model may be written by others.*make it writable by you only"):
            sluice.resume()
        os.chmod(self.checkpoints, 0o700)
        sluice.resume()


@needs_torch
class Load(JobCase):
    STATE = {"step": 7, "names": ["a"], "more": collections.OrderedDict(x=1)}

    def states(self):
        """One state in a file and one in a folder, each with and without code in it."""
        for parts in (False, True):
            for evil in (False, True):
                state = {**self.STATE, "w": torch.ones(3), "size": torch.ones(2, 3).shape}
                if evil:
                    state["evil"] = Payload()
                path = os.path.join(self.base, f"{parts}{evil}")
                if parts:
                    os.mkdir(path)
                    self.save_parts(state, path)
                else:
                    torch.save(state, path)
                yield path, evil

    def save_parts(self, state, path):
        self.job()
        with sluice.checkpoint(step=1) as folder:
            sluice.save(state, folder / "state", parts=True)
        os.rmdir(path)
        os.rename(folder / "state", path)

    def test_own(self):
        for path, evil in self.states():
            del RAN[:]
            self.assertEqual(sluice.load(path)["step"], 7)
            self.assertEqual(bool(RAN), evil)

    def test_others(self):
        """Of what others could have written values are loaded, and no code runs."""
        for path, evil in self.states():
            os.chmod(self.base, 0o777)
            del RAN[:]
            with self.subTest(path=path):
                if evil:
                    with self.assertRaisesRegex(PermissionError, "can run code of its writer.*0777.*copy it"):
                        sluice.load(path)
                else:
                    state = sluice.load(path)
                    self.assertEqual({k: state[k] for k in self.STATE}, self.STATE)
                    self.assertTrue(torch.equal(state["w"], torch.ones(3)))
                self.assertEqual(RAN, [])
                sluice.load(path, weights_only=False)  # as its user says
                self.assertEqual(bool(RAN), evil)
            os.chmod(self.base, 0o700)

    def test_names_that_hold_values(self):
        for module, name in (("posix", "system"), ("builtins", "eval"), ("builtins", "getattr"), ("torch", "load"), ("numpy", "load")):
            self.assertFalse(_trust.plain(module, name), name)
