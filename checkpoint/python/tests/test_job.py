import contextlib
import errno
import io
import json
import os
import random
import shutil
import tempfile
import unittest
import unittest.mock
from unittest import mock

from .fixture import JobCase, write

import sluice
from sluice import _files, _job


@contextlib.contextmanager
def quiet():
    """Collect what is said on standard error."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        yield said


def look_again():
    """As if the watching thread had just looked and the ranks were to agree next."""
    job = _job._current()
    job.watch.know(job.pending())
    job.asking.pace.left = 0


class Outside(unittest.TestCase):
    """A program that runs without sluice runs as ever."""

    def setUp(self):
        self.patch = mock.patch.dict(os.environ)
        self.patch.start()
        for name in [n for n in os.environ if n.startswith("SLUICE_")]:
            del os.environ[name]
        _job._job = None
        self.addCleanup(setattr, _job, "_job", None)
        self.addCleanup(self.patch.stop)

    def test_nothing_happens(self):
        with quiet() as said:
            self.assertFalse(sluice.active())
            self.assertFalse(sluice.should_checkpoint())
            self.assertIsNone(sluice.resume())
            sluice.hello()
            sluice.report(epoch=1, metric={"loss": 1})
            with sluice.checkpoint(step=1) as folder:
                write(folder / "model")
            self.assertFalse(folder.exists())
            sluice.finished()
        self.assertEqual(said.getvalue(), "")

    def test_errors_are_the_programs(self):
        with self.assertRaises(KeyError):
            with sluice.checkpoint(step=1):
                raise KeyError("x")

    def test_world(self):
        with mock.patch.dict(os.environ, {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}):
            self.assertEqual(sluice.world(), sluice.World(8, None, None, 3, 1, 1))
        self.assertEqual(sluice.world(), sluice.World(1, None, None, 0, 0, 1))

    def test_accumulation(self):
        for world, want in {"1": 16, "4": 4, "5": 4, "16": 1, "100": 1}.items():
            with mock.patch.dict(os.environ, {"WORLD_SIZE": world}):
                self.assertEqual(sluice.accumulation_steps(512, 32), want, world)
        with self.assertRaises(ValueError):
            sluice.accumulation_steps(0, 1)


class Requests(JobCase):
    def test_answered_and_taken_back(self):
        self.job()
        self.assertFalse(sluice.should_checkpoint())
        self.ask()
        while not sluice.should_checkpoint():
            pass
        self.withdraw_when(os.path.join(self.checkpoints, "00000001", "manifest.json"))
        with sluice.checkpoint(step=7, epoch=1.5) as folder:
            write(folder / "model")
        # The call returned, so the request is gone; training goes on.
        self.assertFalse(os.path.exists(self.request))
        manifest = self.manifest("00000001")
        self.assertEqual(manifest["request"], "r1")
        self.assertEqual((manifest["job"], manifest["restarts"], manifest["sequence"]), (42, 3, 1))
        self.assertEqual((manifest["step"], manifest["epoch"], manifest["gpus"]), (7, 1.5, 1))
        self.ask("r2")
        while not sluice.should_checkpoint():
            pass

    def test_replaced_while_waiting(self):
        job = self.job()
        self.ask("r1")
        self.assertEqual(job.pending(), "r1")
        with mock.patch("time.sleep", side_effect=lambda _: self.ask("r2")):
            with sluice.checkpoint(step=1) as folder:
                write(folder / "model")
        self.assertEqual(self.manifest("00000001")["request"], "r1")

    def test_own_checkpoint_answers(self):
        """One that was under way when the request came saves a second one."""
        self.job()
        with mock.patch("time.sleep", side_effect=lambda _: self.withdraw()):
            with sluice.checkpoint(step=1) as folder:
                write(folder / "model")
                self.ask()
        self.assertEqual(self.manifest("00000001")["request"], "r1")

    def test_own_checkpoint_does_not_wait(self):
        self.job()
        with sluice.checkpoint(step=1) as folder:
            write(folder / "model")
        self.assertNotIn("request", self.manifest("00000001"))

    def test_without_pause(self):
        self.job()
        self.ask()
        self.assertTrue(sluice.should_checkpoint())
        with sluice.checkpoint(step=1, pause=False) as folder:
            write(folder / "model")
        for _ in range(3):  # answered: it is not asked again as long as it stands
            look_again()
            self.assertFalse(sluice.should_checkpoint())
        self.withdraw()
        look_again()
        self.assertFalse(sluice.should_checkpoint())
        self.ask()  # the same, after it was gone
        look_again()
        self.assertTrue(sluice.should_checkpoint())

    def test_looks_seldom(self):
        job = self.job()
        with mock.patch.object(job, "pending", return_value="") as look:
            for _ in range(1000):
                sluice.should_checkpoint()
        self.assertLess(look.call_count, 50)

    def test_waits_on_a_stuttering_file_system(self):
        """What cannot be read is not taken back; it is looked at again."""
        job = self.job()
        looks = iter([OSError(errno.EIO, ""), ValueError("half a request"), ("r1", False), ("", False)])

        def look(path):
            found = next(looks)
            if isinstance(found, Exception):
                raise found
            return found

        with mock.patch.object(_files, "look_for_end", look), mock.patch("time.sleep") as slept:
            job._wait("r1")
        self.assertEqual((slept.call_count, list(looks)), (3, []))

    def test_calls_between_two_agreements(self):
        """As many calls as were agreed lie between two looks for a request, no more."""
        steady, looks = 0.0, []
        job = _job.Job(self.environ(), clock=lambda: self.now, steady=lambda: steady)
        call = 0
        with mock.patch.object(job.watch, "seen", side_effect=lambda: looks.append(call) or ""):
            for call in range(1, 15):
                self.assertFalse(job.should_checkpoint())
                steady += 0.25
        self.assertEqual(looks, [1, 2, 4, 7, 10, 13])  # every 0.9 s at most, from a call on by doubling

    def test_saves_while_the_answer_is_on_its_way(self):
        """Where the ranks have agreed to save, and the program has not asked again yet, its
        own save is the one that sluice waits for."""
        for agreed in (1, 0):
            job = self.job()
            job.asking._coming = (lambda: [agreed, 5]), None
            job.save_dir(background=True)
            self.assertEqual((job.asked, job.open.background), (agreed == 1, agreed == 0))
            self.assertEqual(job.asking.pace.gap, 5)
            job.drop()

    def test_asked_once(self):
        """The save after the one that was asked for may go on in the background again."""
        job = self.job()
        self.ask()
        self.assertTrue(sluice.should_checkpoint())
        with sluice.checkpoint(step=1, pause=False) as folder:
            write(folder / "model")
        self.assertFalse(job.asked)
        job.save_dir(background=True)
        self.assertTrue(job.open.background)
        job.drop()

    def test_garbage(self):
        self.job()
        long = json.dumps({"request": "r" * 300})  # more than ranks can tell one another
        for content in ["", "{", "[]", "7", '{"request": 3}', "\x00", "x" * 100_000, long, '{"request": "\\ud800"}']:
            write(self.request, content)
            look_again()
            with quiet():
                self.assertFalse(sluice.should_checkpoint(), content[:10])

    def test_request_of_a_missing_folder(self):
        self.assertEqual(_files.read_request(os.path.join(self.base, "none", "request.json")), "")


class Checkpoints(JobCase):
    def test_sequence_and_files(self):
        self.job()
        os.makedirs(os.path.join(self.checkpoints, "00000041"))  # unfinished
        os.makedirs(os.path.join(self.checkpoints, "notes"))
        with sluice.checkpoint(step=1) as folder:
            write(folder / "model")
            os.mkdir(folder / "optim")
            write(folder / "optim" / "a", "moments")
            write(folder / ".nfs0000000000000a2b00000001")  # removed while it was open, on NFS
        self.assertEqual(folder.name, "00000042")
        files = {f["path"]: f["size"] for f in self.manifest("00000042")["files"]}
        self.assertEqual(files, {"model": 7, "optim/a": 7})
        self.assertEqual([n for n in os.listdir(folder) if n.endswith("tmp")], [])

    def test_save_dir_and_commit(self):
        self.job()
        folder = sluice.save_dir()
        write(folder / "model")
        self.assertTrue(sluice.commit(step=1))
        with self.assertRaises(RuntimeError):
            sluice.commit(step=1)

    def test_programs_error(self):
        self.job()
        with self.assertRaises(KeyError):
            with sluice.checkpoint(step=1) as folder:
                write(folder / "model")
                raise KeyError("x")
        self.assertEqual(os.listdir(self.checkpoints), [])

    def test_given_up(self):
        """A checkpoint in which nothing was saved, or that was given up, is none, and whoever
        commits it learns that; the request stands and is answered later."""
        job = self.job()
        self.ask()
        for error in (None, KeyError("x")):
            with quiet():
                folder = sluice.save_dir()
                self.assertIs(job.commit(1, 0, error=error), False)
            self.assertEqual((folder.exists(), job.last, job.failed), (False, "", "r1"))

    def test_leaves(self):
        """A program that ends waits for the other ranks, and not for long where it failed."""
        job = self.job()
        for error, want in ((None, _job.LEAVE), (KeyError("x"), _job.FAIL)):
            with mock.patch.object(job.agreement, "settle") as settled, mock.patch("sys.last_value", error, create=True):
                job.leave()
            settled.assert_called_once_with(want)

    def test_empty(self):
        self.job()
        with quiet() as said:
            with sluice.checkpoint(step=1):
                pass
        self.assertIn("no file was saved", said.getvalue())
        self.assertEqual(os.listdir(self.checkpoints), [])

    def test_link(self):
        self.job()
        with quiet() as said:
            with sluice.checkpoint(step=1) as folder:
                os.symlink("/etc/hostname", folder / "model")
        self.assertIn("model is not a plain file", said.getvalue())
        self.assertEqual(os.listdir(self.checkpoints), [])

    def test_full_disk(self):
        """Training goes on, the request is tried again later, and it is said once."""
        full = OSError(errno.ENOSPC, "No space left on device")
        torch_full = RuntimeError("[enforce fail at inline_container.cc:300] . PytorchStreamWriter failed writing file")
        safetensors_full = type("SafetensorError", (Exception,), {})("Error while serializing: I/O error: No space left on device (os error 28)")
        for where, error in [("sluice._files.next_checkpoint", full), ("sluice._files.write_manifest", full), (None, full), (None, torch_full), (None, safetensors_full)]:
            with self.subTest(where=where, error=error), quiet() as said:
                self.job()
                self.ask()
                self.assertTrue(sluice.should_checkpoint())
                with mock.patch(where, side_effect=error) if where else contextlib.nullcontext():
                    with sluice.checkpoint(step=1) as folder:
                        write(folder / "model")
                        if not where:
                            raise error
                self.assertIn("training goes on without it", said.getvalue())
                look_again()
                self.assertFalse(sluice.should_checkpoint())  # not at every step
                _job._current().failed_at = -1e9
                look_again()
                self.assertTrue(sluice.should_checkpoint())
                if os.path.isdir(self.checkpoints):
                    self.assertEqual(os.listdir(self.checkpoints), [])

    @unittest.skipUnless(os.path.isdir("/dev/shm"), "NOT TESTED: there is no /dev/shm")
    def test_every_disk_full(self):
        """Not even a folder to throw away can be made: in memory, then."""
        full, real, made = OSError(errno.ENOSPC, "No space left on device"), tempfile.mkdtemp, []

        def mkdtemp(prefix, dir=None):  # noqa: A002
            if dir is None:
                raise full
            made.append(real(prefix=prefix, dir=dir))
            return made[0]

        self.job()
        with mock.patch("sluice._files.next_checkpoint", side_effect=full), mock.patch("tempfile.mkdtemp", mkdtemp), quiet():
            with sluice.checkpoint(step=1) as folder:
                write(folder / "model")
        self.assertEqual(str(folder), made[0])
        self.assertFalse(folder.exists())

    def test_ended_while_saving(self):
        """A block that is ended leaves nothing in the folder of temporary files."""
        self.job()
        with mock.patch("sluice._files.next_checkpoint", side_effect=OSError(errno.ENOSPC, "No space left on device")), quiet():
            with self.assertRaises(SystemExit), sluice.checkpoint(step=1) as folder:
                raise SystemExit(1)
        self.assertFalse(folder.exists())

    def test_a_fork_ends(self):
        """What a fork of the program does at its end is not the job's."""
        job = self.job()
        sluice.report(epoch=1)
        job.progress._credit = 0.0
        sluice.report(epoch=2)
        held = job.progress._held
        with mock.patch("os.getpid", return_value=-1):
            job.leave()
        self.assertEqual((held, len(self.progress())), (True, 1))
        job.leave()
        self.assertEqual(len(self.progress()), 2)

    def test_interrupted_manifest(self):
        """Killed before the manifest took its place: there is no checkpoint."""
        self.job()
        with mock.patch("os.rename", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            with sluice.checkpoint(step=1) as folder:
                write(folder / "model")
        self.assertFalse(os.path.exists(folder / "manifest.json"))

    def test_resume(self):
        self.job()
        self.assertIsNone(sluice.resume())
        with sluice.checkpoint(step=7, epoch=1.5) as folder:
            write(folder / "model")
        self.job(SLUICE_RESUME=str(folder))
        saved = sluice.resume()
        self.assertEqual((saved.step, saved.epoch, saved.sequence, saved.gpus), (7, 1.5, 1, 1))
        self.assertEqual(os.fspath(saved), str(folder))
        self.assertEqual(str(saved), str(folder))
        self.assertTrue((saved / "model").exists())
        self.assertIs(sluice.resume(), saved)
        self.assertEqual([p["event"] for p in self.progress()], ["resumed"])

    def test_size_before(self):
        """What the checkpoint's manifest says, else what the run before said; None where neither does."""
        folder = os.path.join(self.checkpoints, "00000001")
        os.makedirs(folder)
        for manifest, line, want in (({"gpus": 4}, {"restarts": 2, "gpus": 8}, 4), ({"gpus": 0}, {"restarts": 2, "gpus": 8}, 8), ({}, {"restarts": 2, "gpus": 8}, 8), ({}, {"restarts": 3, "gpus": 8}, None), ({}, {}, None)):
            write(os.path.join(folder, "manifest.json"), json.dumps(manifest))
            write(os.path.join(self.folder, "progress.jsonl"), json.dumps(line) + "\n")
            self.job(SLUICE_RESUME=folder)
            self.assertEqual(sluice.world().before, want, (manifest, line))

    def test_whole_epochs(self):
        """An epoch that is saved whole comes back whole: range(saved.epoch, epochs)."""
        self.job()
        with sluice.checkpoint(step=7, epoch=3) as folder:
            write(folder / "model")
        self.job(SLUICE_RESUME=str(folder))
        self.assertEqual(list(range(sluice.resume().epoch, 5)), [3, 4])

    def test_beside_the_workers(self):
        """A task that serves the workers says nothing in their place; it may resume."""
        self.job()
        with sluice.checkpoint(step=7, epoch=1.5) as folder:
            write(folder / "model")
        self.ask()
        self.job(SLUICE_RESUME=str(folder), SLUICE_TASK="ps")
        self.assertEqual(os.fspath(sluice.resume()), str(folder))
        self.assertFalse(sluice.active())
        look_again()
        self.assertFalse(sluice.should_checkpoint())
        sluice.report(epoch=3)
        with sluice.checkpoint(step=8, epoch=2) as scratch:
            write(scratch / "model")
        sluice.finished()
        self.assertEqual(os.listdir(self.checkpoints), ["00000001"])
        self.assertEqual(self.progress(), [])
        self.job(SLUICE_TASK="worker")
        look_again()
        self.assertTrue(sluice.should_checkpoint())


class Progress(JobCase):
    def test_lines(self):
        self.job()
        sluice.should_checkpoint()
        sluice.should_checkpoint()
        sluice.report(epoch=1, step=20, metric={"loss": 0.5, "bad": float("nan"), "worse": float("inf")})
        sluice.finished()
        lines = self.progress()
        self.assertEqual([p["event"] for p in lines], ["hello", "progress", "finished"])
        self.assertEqual(lines[1], {"time": 1e9, "restarts": 3, "event": "progress", "done": 1.0, "gpus": 1, "step": 20,
                                    "epoch": 1.0, "nodes": 2, "metric": {"loss": 0.5}, "nan": ["bad", "worse"]})
        self.assertEqual(lines[2]["done"], 1.0)

    def test_metrics_by_name(self):
        self.job()
        sluice.report(epoch=1, metric={"loss": 0.5}, val_acc=0.8)
        self.assertEqual(self.progress()[0]["metric"], {"loss": 0.5, "val_acc": 0.8})

    def test_no_number(self):
        self.job()
        with self.assertRaisesRegex(TypeError, "val_acc is None: want a number; leave val_acc out"):
            sluice.report(epoch=1, loss=0.5, val_acc=None)
        with self.assertRaisesRegex(TypeError, "loss is 'low'"):
            sluice.report(epoch=1, metric={"loss": "low"})
        self.assertEqual(self.progress(), [])

    def test_counts_from_zero(self):
        self.job()
        sluice.report(epoch=0, step=0, loss=0.5)
        self.assertEqual({k: v for k, v in self.progress()[0].items() if k in ("epoch", "step")}, {"epoch": 0.0, "step": 0})

    def test_every_metric_of_a_trial(self):
        with unittest.mock.patch.dict(os.environ, {"SLUICE_TRIAL_METRIC": "val_acc"}):
            self.job()
            for epoch in range(1, 101):
                sluice.report(epoch=epoch, val_acc=epoch / 100)
        self.assertEqual([p["epoch"] for p in self.progress()], [float(n) for n in range(1, 101)])

    def test_params(self):
        self.assertEqual(sluice.params(), {})
        path = os.path.join(self.base, "params.json")
        with unittest.mock.patch.dict(os.environ, {"SLUICE_PARAMS": path}):
            for text, want in (('{"lr": 0.001, "opt": "sgd"}', {"lr": 0.001, "opt": "sgd"}), ("[]", None)):
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
                if want is None:
                    self.assertRaises(ValueError, sluice.params)
                else:
                    self.assertEqual(sluice.params(), want)

    def test_one_process_drives_all(self):
        self.job(SLUICE_GPUS="4")
        sluice.report(epoch=1)
        self.assertEqual([p["gpus"] for p in self.progress()], [4])

    def test_counted_in_steps(self):
        self.job(SLUICE_UNIT="step")
        sluice.report(epoch=1, step=20)
        sluice.report(done=21.5)
        self.assertEqual([p["done"] for p in self.progress()], [20.0, 21.5])

    def test_speed_of_an_epoch_reported_at_each_step(self):
        """Ten steps make an epoch: the last step's time is not that of the epoch."""
        self.job()
        for step in range(1, 21):
            self.now += 0.575
            sluice.should_checkpoint()
            sluice.report(epoch=step // 10, step=step)
        told = [p["seconds"] for p in self.progress() if "seconds" in p]
        self.assertTrue(told)
        for seconds in told:
            self.assertAlmostEqual(seconds, 5.75, delta=0.6)

    def test_speed(self):
        """Seconds a unit, without the time spent saving and waiting."""
        self.job()
        for _ in range(10):  # the measurement begins when the first step is done
            sluice.should_checkpoint()
            self.now += 1
        self.now -= 1
        sluice.report(epoch=1)
        for _ in range(10):
            self.now += 2
            sluice.should_checkpoint()
        with sluice.checkpoint(step=20) as folder:
            write(folder / "model")
            self.now += 100
        sluice.report(epoch=2)
        self.now += 30
        sluice.report(epoch=2)  # no work since: no speed
        seconds = [p.get("seconds") for p in self.progress() if p["event"] == "progress"]
        self.assertEqual(seconds, [10.0, 20.0, None])

    def test_speed_of_whole_epochs_reported_at_every_step(self):
        """The time of an epoch, not that of the step since the line before."""
        self.job()
        for step in range(1, 31):
            self.now += 0.5
            sluice.should_checkpoint()
            sluice.report(epoch=step // 10, step=step)
        seconds = [p["seconds"] for p in self.progress() if p.get("seconds")]
        self.assertEqual(seconds, [5.0, 5.0, 5.0])

    def test_speed_of_an_epoch_resumed_within(self):
        """A part of an epoch is not taken for a whole one."""
        self.job()
        with sluice.checkpoint(step=15, epoch=1) as folder:
            write(folder / "model")
        self.job(SLUICE_RESUME=str(folder))
        sluice.resume()
        for step in range(16, 31):
            self.now += 0.5
            sluice.should_checkpoint()
            sluice.report(epoch=step // 10, step=step)
        seconds = [p["seconds"] for p in self.progress() if p.get("seconds")]
        self.assertEqual(seconds, [5.0])

    def test_speed_after_resume(self):
        self.job()
        with sluice.checkpoint(step=15, epoch=1.5) as folder:
            write(folder / "model")
        self.job(SLUICE_RESUME=str(folder))
        sluice.resume()
        for _ in range(5):
            sluice.should_checkpoint()
            self.now += 1
        self.now -= 1
        sluice.report(epoch=2)
        self.assertEqual(self.progress()[-1]["seconds"], 10.0)

    def test_speed_whatever_the_order(self):
        """A program may ask and then report, or report and then ask, at an epoch's end or at
        every step, from the start or after a resume within an epoch, with a first step that
        takes longer: the time told is that of a whole epoch."""
        draw = random.Random(20)
        for _ in range(300):
            steps, begin = draw.randint(3, 12), draw.randint(0, 30)
            ask_first, fractions, fresh, named = draw.random() < 0.5, draw.random() < 0.5, draw.random() < 0.3, draw.random() < 0.5
            named = named or not ask_first  # its number tells of the step without a call
            begin = 0 if fresh else begin
            if not fractions and steps >= 10 and begin % steps == 1:
                continue  # a tenth of an epoch is not noticed: steps an epoch may differ a little
            with self.subTest(steps=steps, begin=begin, ask_first=ask_first, fractions=fractions, named=named):
                write(os.path.join(self.folder, "progress.jsonl"), "")
                self.job()
                if begin:
                    with sluice.checkpoint(step=begin, epoch=begin / steps if fractions else begin // steps) as folder:
                        write(folder / "model")
                    self.job(SLUICE_RESUME=str(folder))
                    sluice.resume()
                    shutil.rmtree(folder)
                for step in range(begin + 1, (begin // steps + 3) * steps + 1):
                    self.now += 7 if step == begin + 1 else 0.5
                    if ask_first:
                        sluice.should_checkpoint()
                    if step % steps == 0:
                        sluice.report(epoch=step // steps, step=step if named else None)
                    if not ask_first:
                        sluice.should_checkpoint()
                told = [p["seconds"] for p in self.progress() if p.get("seconds")]
                self.assertGreaterEqual(len(told), 2)
                for seconds in told:
                    self.assertAlmostEqual(seconds, 0.5 * steps, places=6)

    def test_torn_line(self):
        """A run killed in the middle of a line does not spoil the next one's."""
        write(os.path.join(self.folder, "progress.jsonl"), '{"time":1e9,"ev')
        self.job()
        sluice.report(epoch=1)
        with open(os.path.join(self.folder, "progress.jsonl")) as f:
            last = f.read().split("\n")[1]
        self.assertEqual(json.loads(last)["done"], 1.0)

    def test_numbers_that_are_none(self):
        """Nothing that a program reports ends it."""
        self.job()
        nan, inf = float("nan"), float("inf")
        with quiet() as said:
            sluice.report(epoch=1, metric={"loss": nan, "best": inf, "ok": 1})
            sluice.report(epoch=nan, step=1)
            sluice.report(epoch=2, step=inf)
        self.assertEqual([p.get("metric") for p in self.progress()], [{"ok": 1.0}])
        self.assertIn("training goes on", said.getvalue())

    def test_unwritable(self):
        self.job()
        os.mkdir(os.path.join(self.folder, "progress.jsonl"))
        with quiet() as said:
            sluice.report(epoch=1)
            sluice.report(epoch=2)
        self.assertEqual(said.getvalue().count("training goes on"), 1)

    def test_too_long(self):
        self.job()
        with quiet() as said:
            sluice.report(epoch=1, metric={f"metric{i}": 1.0 for i in range(1000)})
        self.assertIn("at most 4096", said.getvalue())
        self.assertEqual(self.progress(), [])


if __name__ == "__main__":
    unittest.main()
