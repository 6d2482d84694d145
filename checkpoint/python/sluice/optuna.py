"""Any sampler of Optuna (5.0.0 and newer) as the search of a sweep.

    #SLUICE --sweep=ask --searcher='python3 -m sluice.optuna --sampler TPESampler --storage journal.log'

or a file of one's own that makes the study:

    import optuna
    import sluice.optuna

    sluice.optuna.search(lambda hello: optuna.create_study(
        direction=hello["direction"], sampler=optuna.samplers.GPSampler(seed=hello["seed"])))

The process is the one writer of the study. With --storage, a file, Optuna's dashboard
reads the same journal, and the study is continued by whichever process comes next.

A trial that is done is told with its best value, as "sluice sweep best" counts; one that
failed as FAIL. One that is paused is told as PRUNED at once: Optuna has no state for a
trial that may go on, and a sampler learns from pruned ones. If it goes on and is done
after all, a COMPLETE trial with the same parameters is added.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional, TextIO, Union

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

Event = Mapping[str, Any]
Study = Union["optuna.Study", Callable[[Event], "optuna.Study"]]

NUMBER = "sluice_trial"  # the sweep's number of a trial, as an attribute of Optuna's
REFUSED = "sluice_refused"  # the sweep's constraints reject it: it is no trial of the sweep
FINISHED = {"done": TrialState.COMPLETE, "failed": TrialState.FAIL, "paused": TrialState.PRUNED, "stopped": TrialState.PRUNED}


class Search:
    """A study that answers the questions of a sweep. hello is its first line."""

    def __init__(self, study: optuna.Study, hello: Event) -> None:
        self.study = study
        self.maximize = hello["direction"] == "maximize"
        if [d.name.lower() for d in study.directions] != [hello["direction"]]:
            raise ValueError(f"the study's direction is {[d.name.lower() for d in study.directions]}, and the sweep's metric is to {hello['direction']}")
        self.space = _ordered(list(hello["space"]))
        self.numbers: Dict[int, int] = {}  # Optuna's number of each trial of the sweep
        self.resumed: Dict[int, Dict[int, float]] = {}
        for trial in study.get_trials(deepcopy=False):
            if NUMBER in trial.user_attrs and REFUSED not in trial.user_attrs and trial.state != TrialState.WAITING:
                self.numbers.setdefault(int(trial.user_attrs[NUMBER]), trial.number)

    def ask(self, number: int) -> Dict[str, Any]:
        """The point of a trial: the study's, if an earlier process had drawn one and was
        ended before the sweep had it."""
        if number in self.numbers:
            return self._point(self._trial(number).params)
        trial = self.study.ask()
        params: Dict[str, Any] = {}
        for one in self.space:
            if one["kind"] != "fixed" and _exists(one, params):
                params[one["name"]] = _suggest(trial, one)
        trial.set_user_attr(NUMBER, number)
        self.numbers[number] = trial.number
        return self._point(params)

    def refuse(self, number: int) -> Dict[str, Any]:
        """Another point: the sweep's constraints reject the last."""
        self.study._storage.set_trial_user_attr(self._trial(number)._trial_id, REFUSED, True)  # while it may still be changed
        self.study.tell(self.numbers.pop(number), state=TrialState.FAIL)
        return self.ask(number)

    def know(self, number: int, point: Mapping[str, Any]) -> None:
        """Take in the point of a trial that the study may not have drawn itself."""
        if number not in self.numbers:
            try:
                self._add(number, point, TrialState.RUNNING)
            except ValueError as e:  # its user made the space smaller
                print(f"sluice.optuna: trial {number} is not in the space any more: {e}", file=sys.stderr)

    def tell(self, number: int, epoch: float, value: Optional[float], state: str) -> None:
        """Take in a report, or the state, of a trial. Told again, it changes nothing."""
        if number not in self.numbers:
            return  # it is not in the space any more
        trial = self._trial(number)
        if value is not None and not trial.state.is_finished() and int(epoch) not in trial.intermediate_values:
            self.study._storage.set_trial_intermediate_value(trial._trial_id, int(epoch), float(value))
        elif value is not None and trial.state == TrialState.PRUNED:
            self._again(trial).setdefault(int(epoch), float(value))
        finished = FINISHED.get(state)
        if finished is None:
            return
        if not trial.state.is_finished():
            values = list(self._trial(number).intermediate_values.values())
            if finished == TrialState.COMPLETE and not values:
                finished = TrialState.FAIL
            best = (max if self.maximize else min)(values) if finished == TrialState.COMPLETE else None
            _quietly(lambda: self.study.tell(trial.number, best, state=finished))
        elif trial.state == TrialState.PRUNED and finished == TrialState.COMPLETE:
            self._completed(number, trial)

    def _again(self, trial: FrozenTrial) -> Dict[int, float]:
        """What a trial reported after it was told as pruned."""
        return self.resumed.setdefault(trial.number, {})

    def _completed(self, number: int, trial: FrozenTrial) -> None:
        """A trial that was told as pruned is done after all."""
        if any(t.user_attrs.get("sluice_resumed") == number for t in self.study.get_trials(deepcopy=False)):
            return
        curve = {**trial.intermediate_values, **self._again(trial)}
        self.study.add_trial(optuna.trial.create_trial(
            state=TrialState.COMPLETE, value=(max if self.maximize else min)(curve.values()), params=trial.params,
            distributions=trial.distributions, intermediate_values=curve, user_attrs={"sluice_resumed": number}))

    def _add(self, number: int, point: Mapping[str, Any], state: TrialState) -> None:
        known = [one for one in self.space if one["kind"] != "fixed" and one["name"] in point]
        self.study.add_trial(optuna.trial.create_trial(
            state=state, params={one["name"]: point[one["name"]] for one in known},
            distributions={one["name"]: _distribution(one) for one in known}, user_attrs={NUMBER: number}))
        self.numbers[number] = self.study.get_trials(deepcopy=False)[-1].number

    def _trial(self, number: int) -> FrozenTrial:
        storage = self.study._storage
        return storage.get_trial(storage.get_trial_id_from_study_id_trial_number(self.study._study_id, self.numbers[number]))

    def _point(self, params: Mapping[str, Any]) -> Dict[str, Any]:
        point = dict(params)
        for one in self.space:
            if one["kind"] == "fixed" and _exists(one, point):
                point[one["name"]] = one["choices"][0]
        return point


def _ordered(space: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """The parameters, each after the one on which it depends."""
    done: List[Dict[str, Any]] = []
    while len(done) < len(space):
        names = {one["name"] for one in done}
        done += [one for one in space if one["name"] not in names and ("if" not in one or one["if"]["name"] in names)]
    return done


def _exists(one: Mapping[str, Any], params: Mapping[str, Any]) -> bool:
    condition = one.get("if")
    return not condition or condition["name"] in params and params[condition["name"]] in condition["values"]


def _distribution(one: Mapping[str, Any]) -> BaseDistribution:
    kind = one["kind"]
    if kind in ("int", "logint"):
        return IntDistribution(int(one["low"]), int(one["high"]), log=kind == "logint", step=1 if kind == "logint" else int(one.get("step") or 1))
    if kind in ("float", "log"):
        return FloatDistribution(one["low"], one["high"], log=kind == "log", step=one.get("step") or None)
    return CategoricalDistribution(one["choices"])


def _suggest(trial: optuna.Trial, one: Mapping[str, Any]) -> Any:
    d = _distribution(one)
    if isinstance(d, IntDistribution):
        return trial.suggest_int(one["name"], d.low, d.high, log=d.log, step=d.step)
    if isinstance(d, FloatDistribution):
        return trial.suggest_float(one["name"], d.low, d.high, log=d.log, step=d.step)
    return trial.suggest_categorical(one["name"], one["choices"])


def _quietly(do: Callable[[], Any]) -> None:
    """Samplers of finite spaces stop their study when it is exhausted, which they cannot
    outside of optimize(); the trial is told by then."""
    try:
        do()
    except RuntimeError as e:
        if "Study.stop" not in str(e):
            raise


def search(study: Study, lines: Optional[TextIO] = None, answers: Optional[TextIO] = None) -> None:
    """Answer the questions of a sweep until it is over. study is a study, or a function
    of the first line, a dict, that makes it. Standard output is the sweep's: what else
    the program prints goes to standard error."""
    if answers is None:
        answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
    found: Optional[Search] = None
    for text in lines or sys.stdin:
        e = json.loads(text)
        what, number = e["event"], int(e.get("trial", 0))
        if what == "hello":
            found = Search(study(e) if callable(study) else study, e)
            continue
        if found is None:
            raise ValueError("the first line is not that of a sweep; --searcher starts this program")
        if what == "point":
            found.know(number, e["point"])
        elif what == "tell":
            found.tell(number, e["epoch"], e.get("value"), e["state"])
        elif what in ("ask", "refused"):
            point = found.ask(number) if what == "ask" else found.refuse(number)
            answers.write(json.dumps({"trial": number, "point": point}) + "\n")
            answers.flush()


def _sampler(name: str, options: Mapping[str, Any], seed: int) -> Any:
    module, _, kind = name.rpartition(":")
    make = getattr(importlib.import_module(module) if module else optuna.samplers, kind, None)
    if make is None:
        raise SystemExit(f"sluice.optuna: there is no sampler {name}; write a name of optuna.samplers, or MODULE:CLASS")
    if "seed" in inspect.signature(make).parameters:
        options = {"seed": seed % 2**32, **options}
    return make(**options)


def main() -> None:
    """The program of --searcher."""
    parser = argparse.ArgumentParser(prog="python3 -m sluice.optuna", description="Search for a sweep by a sampler of Optuna.")
    parser.add_argument("--sampler", default="TPESampler", help="a class of optuna.samplers, or MODULE:CLASS (TPESampler)")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="an argument of the sampler, as JSON")
    parser.add_argument("--storage", help="a file for the journal of the study, which Optuna's dashboard reads")
    parser.add_argument("--study", help="the study's name (sluice-SWEEP)")
    args = parser.parse_args()
    options = {}
    for text in args.option:
        name, _, value = text.partition("=")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value

    def make(hello: Event) -> optuna.Study:
        storage = None
        if args.storage:
            from optuna.storages import JournalStorage
            from optuna.storages.journal import JournalFileBackend

            storage = JournalStorage(JournalFileBackend(args.storage))
        return optuna.create_study(storage=storage, sampler=_sampler(args.sampler, options, int(hello["seed"])), direction=hello["direction"],
                                   study_name=args.study or f"sluice-{hello['sweep']}", load_if_exists=True)

    search(make)


if __name__ == "__main__":
    main()
