"""Programs of several ranks without torch and without MPI."""

import os
import socket
import struct
import subprocess
import sys
import threading
import unittest

from .fixture import TOKEN, JobCase, free_port

PROGRAM = """
import os, sys, time
import sluice
rank, size = sluice.world().rank, sluice.world().size
def say(text):
    with open(os.environ["SLUICE_JOB_DIR"] + "/story", "a") as f:
        f.write(text + "\\n")
"""


class Star(JobCase):
    def begin(self, body, size=3, port=0, **more):
        port = port or free_port()
        library = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
        for rank in range(size):
            env = {**os.environ, **self.environ(**more), "RANK": str(rank), "WORLD_SIZE": str(size), "PYTHONPATH": library,
                   "SLUICE_AGREE": f"127.0.0.1:{port}"}
            p = subprocess.Popen([sys.executable, "-c", PROGRAM + body], env=env, stderr=subprocess.PIPE, text=True)
            self.addCleanup(p.stderr.close)
            self.addCleanup(p.wait)
            self.addCleanup(p.kill)
            yield p

    def run_ranks(self, body, codes=(0, 0, 0), **more):
        ranks = list(self.begin(body, size=len(codes), **more))
        errors = [p.communicate(timeout=60)[1] for p in ranks]
        self.assertEqual([p.returncode for p in ranks], list(codes), errors)
        return errors

    def story(self):
        with open(os.path.join(self.folder, "story")) as f:
            return sorted(f.read().split("\n")[:-1])

    def test_agree(self):
        """All ranks see the request at the same step, wait, and go on together."""
        self.withdraw_when(os.path.join(self.checkpoints, "00000001", "manifest.json"))
        self.run_ranks("""
for step in range(10**6):
    if step == 50 and rank == 0:
        with open(os.environ["SLUICE_REQUEST"] + ".new", "w") as f:
            f.write('{"request": "r1"}')
        os.rename(os.environ["SLUICE_REQUEST"] + ".new", os.environ["SLUICE_REQUEST"])
    if sluice.should_checkpoint():
        with sluice.checkpoint(step=step) as folder:
            (folder / f"shard{rank}").write_text("x")
        break
    time.sleep(0.001)
say(f"{step} {folder.name} {os.path.exists(os.environ['SLUICE_REQUEST'])}")
""")
        self.assertEqual((len(self.story()), len(set(self.story()))), (3, 1), self.story())
        self.assertIn("00000001 False", self.story()[0])
        manifest = self.manifest("00000001")
        self.assertEqual([f["path"] for f in manifest["files"]], ["shard0", "shard1", "shard2"])
        self.assertEqual((manifest["request"], manifest["gpus"]), ("r1", 3))

    def test_in_the_background(self):
        """The agreements of a save that is written meanwhile are sums over the ranks."""
        self.run_ranks("""
with sluice.checkpoint(step=1, background=True) as folder:
    (folder / f"shard{rank}").write_text("x" * (1 + rank))
for step in range(200):
    sluice.should_checkpoint()
    time.sleep(0.01)
sluice.wait()
""")
        self.assertEqual([f["path"] for f in self.manifest("00000001")["files"]], ["shard0", "shard1", "shard2"])

    def test_one_rank_fails_to_save(self):
        errors = self.run_ranks("""
with sluice.checkpoint(step=1) as folder:
    (folder / f"shard{rank}").write_text("x")
    if rank == 2:
        raise OSError(28, "No space left on device")
say(f"{rank} went on")
""")
        self.assertIn("training goes on", errors[2])
        self.assertEqual(len(self.story()), 3)
        self.assertEqual(os.listdir(self.checkpoints), [])

    def test_a_rank_ends(self):
        """What waits for a rank that is gone ends with an error, at once."""
        errors = self.run_ranks("""
if rank == 1:
    sluice.should_checkpoint()
    os._exit(7)
for step in range(10**6):
    if sluice.should_checkpoint():
        break
    with sluice.checkpoint(step=step):
        pass
""", codes=(1, 7, 1))
        self.assertIn("Error", errors[0])

    def test_strangers(self):
        """Who does not know the folder's name is no rank, whatever it sends."""
        port = free_port()
        ranks = list(self.begin("say(str(sluice.should_checkpoint()))", port=port))
        stop = threading.Event()

        def disturb():
            words = [b"", b"\xff\xff\xff\xff", b"GET / HTTP/1.0\r\n\r\n", b"sluice wrong 3 1", f"sluice {TOKEN} 3 7".encode(), f"sluice {TOKEN} 2 1".encode()]
            while not stop.is_set():
                for word in words:
                    try:
                        with socket.create_connection(("127.0.0.1", port), timeout=1) as s:
                            s.sendall(struct.pack("!I", len(word)) + word)
                    except OSError:
                        stop.wait(0.001)

        thread = threading.Thread(target=disturb)
        thread.start()
        errors = [p.communicate(timeout=60)[1] for p in ranks]
        stop.set()
        thread.join()
        self.assertEqual([p.returncode for p in ranks], [0, 0, 0], errors)
        self.assertEqual(self.story(), ["False"] * 3)

    def test_not_told_where(self):
        """Started otherwise than by sluice ranks: the program runs, and is told why it
        cannot save together."""
        errors = self.run_ranks("""
os.environ.pop("SLUICE_AGREE")
say(str(sluice.should_checkpoint()))
""")
        self.assertEqual(self.story(), ["False"] * 3)
        self.assertIn("they cannot agree", errors[0])


if __name__ == "__main__":
    unittest.main()
