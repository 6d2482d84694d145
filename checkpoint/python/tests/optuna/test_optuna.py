"""sluice.optuna with Optuna itself."""

import io
import json
import os
import sys
import tempfile
import unittest
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

import optuna  # noqa: E402
from optuna.storages import JournalStorage  # noqa: E402
from optuna.storages.journal import JournalFileBackend  # noqa: E402
from optuna.trial import TrialState  # noqa: E402

import sluice.optuna  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("ignore")

SPACE = [
    {"name": "momentum", "kind": "float", "low": 0.0, "high": 1.0, "if": {"name": "opt", "values": ["sgd"]}},
    {"name": "lr", "kind": "log", "low": 1e-5, "high": 0.1},
    {"name": "depth", "kind": "int", "low": 2, "high": 8, "step": 2},
    {"name": "width", "kind": "logint", "low": 16, "high": 1024, "step": 1},
    {"name": "opt", "kind": "choice", "choices": ["sgd", "adamw"]},
    {"name": "size", "kind": "fixed", "choices": [32]},
]
HELLO = {"event": "hello", "version": 1, "sweep": 7, "metric": "acc", "direction": "maximize", "seed": 3, "trials": 20, "space": SPACE}


def asks(number):
    return {"event": "ask", "trial": number}


def tells(number, epoch, value=None, state="running"):
    return {"event": "tell", "trial": number, "epoch": epoch, "state": state, **({} if value is None else {"value": value})}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sluice-optuna-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "journal.log")

    def study(self, sampler=None, stored=True):
        storage = JournalStorage(JournalFileBackend(self.path)) if stored else None
        return optuna.create_study(storage=storage, sampler=sampler or optuna.samplers.TPESampler(seed=3, n_startup_trials=2),
                                   direction="maximize", study_name="s", load_if_exists=stored)

    def talk(self, study, *events, hello=HELLO):
        """The answers of one process to these lines."""
        out = io.StringIO()
        sluice.optuna.search(study, io.StringIO("\n".join(json.dumps(e) for e in (hello,) + events) + "\n"), out)
        return [json.loads(line) for line in out.getvalue().splitlines()]

    def check(self, point):
        self.assertEqual(set(point) - {"momentum"}, {"lr", "depth", "width", "opt", "size"})
        self.assertEqual("momentum" in point, point["opt"] == "sgd")
        self.assertIn(point["depth"], (2, 4, 6, 8))
        self.assertTrue(1e-5 <= point["lr"] <= 0.1 and 16 <= point["width"] <= 1024 and point["size"] == 32)

    def test_samplers(self):
        for name in ("RandomSampler", "TPESampler", "NSGAIISampler"):
            answers = self.talk(self.study(getattr(optuna.samplers, name)(seed=1), stored=False), *(
                e for n in range(1, 16) for e in (asks(n), tells(n, 1, n / 20), tells(n, 2, n / 10), tells(n, 2, state="done"))))
            self.assertEqual([a["trial"] for a in answers], list(range(1, 16)), name)
            for a in answers:
                self.check(a["point"])

    def test_a_space_that_is_exhausted(self):
        hello = {**HELLO, "space": [{"name": "x", "kind": "int", "low": 1, "high": 3}]}
        events = [e for n in range(1, 4) for e in (asks(n), tells(n, 1, n), tells(n, 1, state="done"))]
        answers = self.talk(self.study(optuna.samplers.BruteForceSampler(seed=1), stored=False), *events, hello=hello)
        self.assertEqual(sorted(a["point"]["x"] for a in answers), [1, 2, 3])

    def test_states_in_the_journal(self):
        self.talk(self.study(), asks(1), asks(2), asks(3), asks(4), tells(1, 1, 0.5), tells(1, 2, 0.9), tells(1, 3, 0.7), tells(1, 3, state="done"),
                  tells(2, 1, 0.1), tells(2, 1, state="paused"), tells(3, 1, state="failed"), tells(4, 1, 0.3))
        trials = self.study().get_trials()
        self.assertEqual([t.state for t in trials], [TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL, TrialState.RUNNING])
        self.assertEqual((trials[0].value, trials[0].intermediate_values), (0.9, {1: 0.5, 2: 0.9, 3: 0.7}))
        self.assertEqual(trials[3].intermediate_values, {1: 0.3})

    def test_a_paused_trial_that_is_done_after_all(self):
        history = (asks(1), tells(1, 1, 0.1), tells(1, 1, state="paused"))
        more = (tells(1, 2, 0.8), tells(1, 2, state="done"))
        answers = self.talk(self.study(), *history, *more)
        replay = ({"event": "point", "trial": 1, "point": answers[0]["point"]},) + history[1:] + more
        self.assertEqual(self.talk(self.study(), *replay), [])
        trials = self.study().get_trials()
        self.assertEqual([(t.state, t.params) for t in trials], [(TrialState.PRUNED, trials[0].params), (TrialState.COMPLETE, trials[0].params)])
        self.assertEqual((trials[1].value, self.study().best_value), (0.8, 0.8))

    def test_the_next_process(self):
        first = self.talk(self.study(), asks(1), tells(1, 1, 0.5), asks(2))
        # The answer for trial 2 was not recorded: the process is asked again, and has drawn it.
        replay = ({"event": "point", "trial": 1, "point": first[0]["point"]}, tells(1, 1, 0.5))
        again = self.talk(self.study(), *replay, asks(2), tells(1, 1, state="done"))
        self.assertEqual(again, first[1:])
        self.assertEqual([t.state for t in self.study().get_trials()], [TrialState.COMPLETE, TrialState.RUNNING])

    def test_without_a_storage(self):
        point = {"lr": 0.01, "depth": 4, "width": 64, "opt": "adamw", "size": 32}
        study = self.study(stored=False)
        answers = self.talk(study, {"event": "point", "trial": 1, "point": point}, tells(1, 1, 0.5), tells(1, 1, state="done"), asks(2))
        self.assertEqual(answers[0]["trial"], 2)
        self.assertEqual(study.best_params, {k: v for k, v in point.items() if k != "size"})

    def test_refused(self):
        study = self.study(stored=False)
        answers = self.talk(study, asks(1), {"event": "refused", "trial": 1, "why": "depth*width<4096 is not satisfied"}, tells(1, 1, 0.5))
        self.assertEqual([a["trial"] for a in answers], [1, 1])
        self.assertNotEqual(answers[0]["point"], answers[1]["point"])
        self.assertEqual([t.state for t in study.get_trials()], [TrialState.FAIL, TrialState.RUNNING])

    def test_refused_and_started_again(self):
        refused = {"event": "refused", "trial": 1, "why": "depth*width<4096 is not satisfied"}
        points = [a["point"] for a in self.talk(self.study(), asks(1), refused)]
        points += [a["point"] for a in self.talk(self.study(), asks(1), refused)]
        self.assertEqual(len(points), 4)
        self.talk(self.study(), {"event": "point", "trial": 1, "point": points[-1]}, tells(1, 1, 0.5), tells(1, 1, state="done"))
        done = [t for t in self.study().get_trials() if t.state == TrialState.COMPLETE]
        self.assertEqual([(t.user_attrs[sluice.optuna.NUMBER], t.value, t.params["lr"]) for t in done], [(1, 0.5, points[-1]["lr"])])

    def test_a_space_that_was_made_smaller(self):
        point = {"lr": 0.01, "depth": 4, "width": 64, "opt": "adamw", "size": 32}
        space = [{**one, "high": 1e-3} if one["name"] == "lr" else one for one in SPACE]
        answers = self.talk(self.study(stored=False), {"event": "point", "trial": 1, "point": point}, tells(1, 1, 0.5),
                            tells(1, 1, state="done"), asks(2), hello={**HELLO, "space": space})
        self.assertEqual([a["trial"] for a in answers], [2])

    def test_another_direction(self):
        with self.assertRaisesRegex(ValueError, "minimize"):
            self.talk(optuna.create_study(direction="minimize"), asks(1))


if __name__ == "__main__":
    unittest.main()
