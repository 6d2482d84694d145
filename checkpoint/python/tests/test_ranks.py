"""Programs of several ranks, over torch.distributed with gloo."""

import os
import subprocess
import sys
import unittest

from .fixture import JobCase, free_port

try:
    import torch.distributed
    TORCH = torch.distributed.is_available()
except ImportError:
    TORCH = False

PROGRAM = """
import os, sys, time
import torch, torch.distributed as dist
import sluice
dist.init_process_group("gloo")
rank, size = sluice.world().rank, sluice.world().size
def say(text):
    with open(os.environ["SLUICE_JOB_DIR"] + "/story", "a") as f:
        f.write(text + "\\n")
"""


@unittest.skipUnless(TORCH, "NOT TESTED: torch is not installed")
class Programs(JobCase):
    """Runs programs of several ranks."""

    def run_ranks(self, body, size=3, codes=None, **more):
        """Run body on every rank. codes are the exit codes, 0 unless given; "" is any."""
        port = free_port()
        library = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
        ranks = []
        for rank in range(size):
            env = {**os.environ, **self.environ(**more), "RANK": str(rank), "WORLD_SIZE": str(size), "PYTHONPATH": library,
                   "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
            ranks.append(subprocess.Popen([sys.executable, "-c", PROGRAM + body], env=env, stderr=subprocess.PIPE, text=True))
        try:
            errors = [p.communicate(timeout=120)[1] for p in ranks]
        finally:
            for p in ranks:
                p.kill()
        codes = codes or [0] * size
        self.assertEqual(["" if code == "" else p.returncode for p, code in zip(ranks, codes)], codes, errors)
        return errors

    def story(self):
        with open(os.path.join(self.folder, "story")) as f:
            return sorted(f.read().split("\n")[:-1])


class Ranks(Programs):
    def test_agree(self):
        """All ranks see the request at the same step, wait, and go on together."""
        self.agree("")

    def test_agree_beside_another_backend(self):
        """A program that trains over NCCL: the library talks through gloo."""
        self.agree("dist.get_backend = lambda *group: 'nccl'\n")

    def agree(self, before):
        self.withdraw_when(os.path.join(self.checkpoints, "00000001", "manifest.json"))
        self.run_ranks(before + """
for step in range(10**6):
    if step == 50 and rank == 0:
        with open(os.environ["SLUICE_REQUEST"] + ".new", "w") as f:
            f.write('{"request": "r1"}')
        os.rename(os.environ["SLUICE_REQUEST"] + ".new", os.environ["SLUICE_REQUEST"])
    if sluice.should_checkpoint():
        with sluice.checkpoint(step=step) as folder:
            (folder / f"shard{rank}").write_text("x")
            time.sleep(0.1 * rank)
        break
say(f"{rank} {step} {folder.name} {os.path.exists(os.environ['SLUICE_REQUEST'])}")
dist.barrier()
""")
        steps = {line.split(" ", 1)[1] for line in self.story()}
        self.assertEqual(len(self.story()), 3)
        self.assertEqual(len(steps), 1, self.story())
        self.assertIn("00000001 False", steps.pop())
        manifest = self.manifest("00000001")
        self.assertEqual([f["path"] for f in manifest["files"]], ["shard0", "shard1", "shard2"])
        self.assertEqual((manifest["request"], manifest["gpus"]), ("r1", 3))
        self.assertEqual([p["event"] for p in self.progress()], ["hello"])

    def test_one_rank_fails_to_save(self):
        """No checkpoint by halves; the other ranks go on with the failed one."""
        errors = self.run_ranks("""
import errno
with sluice.checkpoint(step=1) as folder:
    (folder / f"shard{rank}").write_text("x")
    if rank == 2:
        raise OSError(errno.ENOSPC, "No space left on device")
say(f"{rank} went on")
with sluice.checkpoint(step=2) as folder:
    (folder / f"shard{rank}").write_text("x")
say(f"{rank} saved {folder.name}")
""")
        self.assertIn("training goes on", errors[2])
        self.assertEqual(len([s for s in self.story() if s.endswith("went on")]), 3)
        self.assertEqual(os.listdir(self.checkpoints), ["00000001"])
        self.assertEqual(len(self.manifest("00000001")["files"]), 3)

    def test_save_on_a_full_disk(self):
        """torch.save would end the process; /dev/full is a disk without room."""
        errors = self.run_ranks("""
state = {"w": torch.zeros(100_000)}
with sluice.checkpoint(step=1) as folder:
    if rank == 0:
        os.symlink("/dev/full", folder / "model.pt")
        sluice.save(state, folder / "model.pt")
with sluice.checkpoint(step=2) as folder:
    if rank == 0:
        sluice.save(state, folder / "model.pt")
say(f"{rank} {torch.load(folder / 'model.pt')['w'].shape[0]}")
""", size=2)
        self.assertIn("No space left on device", errors[0])
        self.assertEqual(self.story(), ["0 100000", "1 100000"])
        self.assertEqual(len(self.manifest("00000001")["files"]), 1)

    def test_first_rank_has_no_room(self):
        errors = self.run_ranks("""
import errno
from unittest import mock
full = OSError(errno.ENOSPC, "No space left on device")
with mock.patch("sluice._files.next_checkpoint", side_effect=full):
    with sluice.checkpoint(step=1) as folder:
        (folder / "shard").write_text("x")
with mock.patch("sluice._files.write_manifest", side_effect=full):
    with sluice.checkpoint(step=1) as folder:
        (folder / f"shard{rank}").write_text("x")
say(f"{rank} went on")
""")
        self.assertIn("No space left", errors[0])
        self.assertEqual(len(self.story()), 3)
        self.assertEqual(os.listdir(self.checkpoints), [])


if __name__ == "__main__":
    unittest.main()
