"""Trial after trial in one process."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import sluice  # noqa: E402
from sluice import _job, _trials  # noqa: E402


class Lane:
    """The lane's side of the folder by which it gives a process its trials."""

    def __init__(self, case):
        self.base = tempfile.mkdtemp(prefix="sluice-test-")
        case.addCleanup(shutil.rmtree, self.base, ignore_errors=True)
        self.folder = os.path.join(self.base, "host")
        os.mkdir(self.folder)
        self.ids = {}

    def environ(self):
        return {"SLUICE_TRIALS": self.folder, "SLUICE_JOB_DIR": self.folder, "SLUICE_JOB_ID": "7", "SLUICE_RESTARTS": "0"}

    def trial(self, number):
        return os.path.join(self.base, f"{number:032x}")

    def put(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path + ".tmp", "w") as f:
            json.dump({"version": 1, **content}, f)
        os.replace(path + ".tmp", path)

    def give(self, number, resume="", start=1):
        """Hand over a trial, without waiting for it to be wanted."""
        folder = self.trial(number)
        os.makedirs(os.path.join(folder, "checkpoints"), exist_ok=True)
        with open(os.path.join(folder, "params.json"), "w") as f:
            json.dump({"x": number}, f)
        self.ids[number] = f"id{number}.{start}"
        variables = {"JOB_ID": "7", "JOB_DIR": folder, "REQUEST": os.path.join(folder, "request.json"), "RESUME": resume,
                     "CHECKPOINTS": os.path.join(folder, "checkpoints"), "RESTARTS": str(start - 1), "TRIAL": str(number), "TRIAL_METRIC": "acc",
                     "PARAMS": os.path.join(folder, "params.json"), "PARAM_X": str(number), f"PARAM_ONLY{number}": "yes", "UNIT": "epoch"}
        self.put("next.json", {"id": self.ids[number], "environment": {"SLUICE_" + k: v for k, v in variables.items()}})

    def gives(self, *numbers):
        """Hand over trials as they are wanted, and then say that there are no more."""
        def run():
            for number in numbers:
                self.wait_for(after)
                self.give(number)
                after.append(self.ids[number])
            self.wait_for(after)
            self.put("next.json", {"id": "end", "over": True})
        after = [""]
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def wait_for(self, after):
        for _ in range(6000):
            if self.read("ready.json").get("after") == after[-1]:
                return
            threading.Event().wait(0.005)

    def read(self, name):
        try:
            with open(os.path.join(self.folder, name)) as f:
                return json.load(f)
        except (OSError, ValueError):
            return {}

    def ask(self, number, request="r1"):
        path = os.path.join(self.trial(number), "request.json")
        with open(path + ".new", "w") as f:
            json.dump({"version": 1, "job": 7, "request": request}, f)
        os.rename(path + ".new", path)

    def over_when_saved(self, number):
        """Say that the trial is over once it has a checkpoint that answers the request."""
        def run():
            for _ in range(6000):
                if os.path.exists(os.path.join(self.trial(number), "checkpoints", "00000001", "manifest.json")):
                    break
                threading.Event().wait(0.005)
            self.put("over.json", {"id": self.ids[number]})
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def progress(self, number):
        with open(os.path.join(self.trial(number), "progress.jsonl")) as f:
            return [json.loads(line) for line in f]


class Trials(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.dict(os.environ, clear=False)
        patch.start()
        self.addCleanup(patch.stop)
        for name in [n for n in os.environ if n.startswith("SLUICE_")]:
            del os.environ[name]
        self.addCleanup(setattr, _job, "_job", None)
        self.addCleanup(setattr, _trials._Host, "_found", None)
        _job._job = None
        self.lane = Lane(self)

    def hosted(self):
        os.environ.update(self.lane.environ())

    def test_one_after_the_other(self):
        self.hosted()
        self.lane.gives(1, 2, 3)
        seen, jobs = [], []
        for trial in sluice.trials():
            seen.append((trial.number, trial.params, trial.epoch, {n for n in os.environ if n.startswith("SLUICE_PARAM_ONLY")}))
            jobs.append(_job._job)
            sluice.report(epoch=1, acc=trial.number / 10)
            with sluice.checkpoint(step=1, epoch=1) as folder:
                (folder / "state").write_text(str(trial.number))
        self.assertEqual(seen, [(n, {"x": n}, 0, {f"SLUICE_PARAM_ONLY{n}"}) for n in (1, 2, 3)])
        for n in (1, 2, 3):
            self.assertEqual([line["metric"] for line in self.lane.progress(n)], [{"acc": n / 10}])
            self.assertEqual(os.listdir(os.path.join(self.lane.trial(n), "checkpoints")), ["00000001"])
        self.assertEqual(len(set(map(id, jobs))), 3)
        self.assertFalse(any(job.active for job in jobs))
        self.assertEqual(self.lane.read("ready.json"), {"version": 1, "after": "id3.1", "failed": False})

    def test_nothing_leaks(self):
        self.hosted()
        self.lane.gives(1, 2)
        before = signal.getsignal(signal.SIGUSR1)
        for trial in sluice.trials():
            self.assertIs(signal.getsignal(signal.SIGUSR1), before)
            self.assertIsNone(sluice.resume())
            self.assertIsNone(_job._job.open)
            self.assertEqual((_job._job.last, _job._job.flights.highest, _job._job.progress.done, _job._job.said_hello), ("", 0, 0.0, False))
            signal.signal(signal.SIGUSR1, lambda *_: None)
            sluice.should_checkpoint()
            sluice.report(epoch=3, acc=0.5)
            if trial.number == 1:
                with sluice.checkpoint(step=3, epoch=3) as folder:
                    (folder / "state").write_text("1")
                sluice.save_dir()  # is left open
        self.assertIs(signal.getsignal(signal.SIGUSR1), before)

    def test_paused(self):
        self.hosted()
        self.lane.gives(1, 2)
        through = []
        for trial in sluice.trials():
            with trial:
                if trial.number == 1:
                    self.lane.ask(1)
                    self.lane.over_when_saved(1)
                    with sluice.checkpoint(step=1, epoch=1) as folder:
                        (folder / "state").write_text("1")
                    self.fail("the block was not left")
                through.append(trial.number)
        self.assertEqual(through, [2])
        self.assertFalse(self.lane.read("ready.json")["failed"])

    def test_ended_without_a_save(self):
        self.hosted()
        self.lane.gives(1, 2)
        through = []
        for trial in sluice.trials():
            with trial:
                if trial.number == 1:
                    self.lane.put("over.json", {"id": self.lane.ids[1]})
                for epoch in range(1, 1000):
                    sluice.report(epoch=epoch, acc=0.5)
                    threading.Event().wait(0.005 if trial.number == 1 else 0)
                through.append(trial.number)
        self.assertEqual(through, [2])

    def test_an_exception_fails_its_trial_only(self):
        self.hosted()
        self.lane.gives(1, 2)
        failed = []
        with mock.patch("sys.stderr") as err:
            for trial in sluice.trials():
                with trial:
                    failed.append(self.lane.read("ready.json").get("failed"))
                    if trial.number == 1:
                        raise ValueError("this point is no good")
        self.assertIn("this point is no good", "".join(str(c) for c in err.write.call_args_list))
        self.assertEqual(failed, [False, True])
        self.assertFalse(self.lane.read("ready.json")["failed"])

    def test_an_exception_without_the_context(self):
        self.hosted()
        self.lane.gives(1, 2)
        with self.assertRaises(ValueError):
            for _ in sluice.trials():
                raise ValueError("no")
        self.assertEqual(self.lane.read("ready.json")["after"], "")

    def test_the_lane_is_gone(self):
        self.hosted()
        self.lane.give(1)
        with self.assertRaises(SystemExit):
            for _ in sluice.trials():
                shutil.rmtree(self.lane.folder)
                os.mkdir(self.lane.folder)
                self.lane.put("ready.json", {})
                threading.Timer(0.1, shutil.rmtree, (self.lane.folder,)).start()

    def test_two_loops(self):
        self.hosted()
        self.lane.gives(1)
        for _ in sluice.trials():
            with self.assertRaisesRegex(RuntimeError, "has not ended"):
                next(sluice.trials())
        self.assertEqual(list(sluice.trials()), [])

    def test_ranks_that_are_not_connected(self):
        self.hosted()
        os.environ.update(RANK="0", WORLD_SIZE="2")
        self.lane.give(1)
        with mock.patch("sys.stderr"):
            self.assertEqual([t.number for t in sluice.trials()], [1])
        self.assertEqual(self.lane.read("ready.json")["after"], "")  # the process ends, and the trial with it

    def test_outside_of_a_sweep(self):
        for trial in sluice.trials():
            with trial:
                self.assertEqual((trial.number, trial.params, trial.epoch, trial.saved), (0, {}, 0, None))
        with self.assertRaises(ValueError):
            for trial in sluice.trials():
                with trial:
                    raise ValueError("no")

    def test_the_first_process_says_so(self):
        os.environ["SLUICE_TRIALS_WANTED"] = path = os.path.join(self.lane.base, "warm")
        self.assertEqual(len(list(sluice.trials())), 1)
        self.assertTrue(os.path.exists(path))

    def test_output(self):
        output = os.path.join(self.lane.folder, "output")
        program = "import sluice\nfor t in sluice.trials():\n    print('this is', t.number)\nprint('over')\n"
        self.lane.gives(1, 2)
        give, lane = self.lane.put, self.lane

        def put(name, content):
            for number, known in lane.ids.items():
                if content.get("id") == known:
                    content["environment"]["SLUICE_TRIAL_OUTPUT"] = lane.trial(number) + ".out"
            give(name, content)

        lane.put = put
        with open(output, "w") as f:
            environ = {**os.environ, **lane.environ(), "SLUICE_TRIALS_OUTPUT": output, "PYTHONPATH": os.path.join(os.path.dirname(__file__), "..")}
            subprocess.run([sys.executable, "-c", program], stdout=f, stderr=f, env=environ, check=True, timeout=60)
        for number in (1, 2):
            with open(lane.trial(number) + ".out") as f:
                self.assertEqual(f.read(), f"this is {number}\n")
        with open(output) as f:
            self.assertEqual(f.read(), "over\n")


if __name__ == "__main__":
    unittest.main()
