"""Units of the survey: one for each OpInfo, and one of operators that only their schema describes.

A unit runs in a process of its own, since a sample of unusual sizes can end the process.
"""

from __future__ import annotations

import functools
import os
import pickle
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

from simmesh.rules.pytorch import samples
from simmesh.rules.pytorch.propagation import quiet, rules_of_pytorch
from simmesh.rules.pytorch.schema_samples import made_calls
from simmesh.rules.pytorch.survey import Judge, Survey, name_of

Op = Any  # torch._ops.OpOverload

# Operators that samples of everything call are judged with those of one OpInfo.
_EVERYWHERE = ("detach", "copy", "to_copy", "new_empty_strided", "zeros_like", "ones_like")
_THEIR_UNIT = "add"
BY_SCHEMA = "operators by schema"
_SECONDS_MAX = 1800.0


def _base(op: Op) -> str:
    return str(op._schema.name.split("::")[1]).strip("_")


def _names(infos: Iterable[Any]) -> set[str]:
    names = set()
    for info in infos:
        for name in (info.name, info.aten_name or info.name):
            names.add(name.removeprefix("nn.functional.").replace(".", "_").strip("_"))
    return names


class Units:
    """The units of the installed PyTorch, by name."""

    def __init__(self) -> None:
        self._infos = samples.opinfos()
        self._owned = {name: _names(infos) for name, infos in self._infos.items()}
        self._owners = set().union(*self._owned.values())
        self._rules = rules_of_pytorch()

    @property
    def names(self) -> list[str]:
        """The names of the OpInfos, in their order."""
        return sorted(self._infos)

    def _is_judged_in(self, name: str) -> Callable[[Op], bool]:
        """True for operators that the unit judges: not those that another OpInfo is named after."""

        def wanted(op: Op) -> bool:
            base = _base(op)
            if base in self._owners:
                return base in self._owned[name]
            return base not in _EVERYWHERE or name == _THEIR_UNIT

        return wanted

    def survey(self, name: str, reached: Iterable[str] = ()) -> Survey:
        """Judges a unit in a process of its own. ``reached`` has operators that BY_SCHEMA leaves
        out.
        """
        if name == BY_SCHEMA:
            return self._by_schema(set(reached))

        def judge(is_forward: bool) -> Survey:
            torch.set_num_threads(1)
            with quiet():
                return self._of_opinfo(name, is_forward)

        result = _in_a_process(lambda: judge(False)) or _in_a_process(lambda: judge(True))
        if result is None:
            result = Survey()
            result.skipped[name] = "its samples end the process"
        return result

    def _of_opinfo(self, name: str, is_forward: bool) -> Survey:
        calls = samples.calls_of(self._infos[name], self._is_judged_in(name), is_forward)
        for call in samples.own_calls(name):
            calls.setdefault(call.op, []).append(call)
        calls.update(samples.derived_calls(self._rules, calls))
        judge = Judge()
        for op in sorted(calls, key=name_of):
            for call in calls[op]:
                judge.judge(call)
        return judge.survey

    def _by_schema(self, left_out: set[str]) -> Survey:
        """Judges each operator in a process of its own, since arguments that nobody thought of can
        end it.
        """
        total = Survey()
        for op in sorted(self._rules, key=name_of):
            if name_of(op) in left_out:
                continue
            found = _in_a_process(functools.partial(_of_schema, op))
            if found is None:
                total.skipped[name_of(op)] = "its samples end the process"
            else:
                total.merge(found)
        return total

    def chosen(self, is_named: Callable[[str], bool]) -> Iterator[Survey]:
        """Judges units that are named, the named operators of other units, and those that only
        their schema describes.
        """
        reached: set[str] = set()
        for name in self.names:
            bases = self._owned[name]
            if is_named(name) or any(map(is_named, bases)) or any(
                _base(op) in bases for op in self._rules if is_named(name_of(op))
            ):  # fmt: skip
                survey = self.survey(name)
                reached |= survey.operators | set(survey.skipped)
                yield survey
        rest = [op for op in self._rules if is_named(name_of(op)) and name_of(op) not in reached]
        if rest:
            left_out = {name_of(op) for op in self._rules if op not in rest}
            yield self.survey(BY_SCHEMA, left_out)


def _of_schema(op: Op) -> Survey:
    torch.set_num_threads(1)
    judge = Judge()
    with quiet():
        calls = made_calls(op)
        if not calls:
            judge.survey.skipped[name_of(op)] = "no sample calls it"
        for call in calls:
            judge.judge(call)
    return judge.survey


def _in_a_process(function: Callable[[], Survey]) -> Survey | None:
    """The result of a function that runs in a child; None where that ends early."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "survey"
        child = os.fork()
        if child == 0:
            status = 1
            try:
                path.write_bytes(pickle.dumps(function()))
                status = 0
            except BaseException:
                path.write_bytes(pickle.dumps(traceback.format_exc()))
            finally:
                os._exit(status)
        _wait(child)
        if not path.exists():
            return None
        result = pickle.loads(path.read_bytes())
    if not isinstance(result, Survey):
        raise RuntimeError(f"[rules/pytorch] the survey failed:\n{result}")
    return result


def _wait(child: int) -> None:
    """Waits until a child ends, and ends one that doesn't: memory that a sample spoiled can also
    make a process hang.
    """
    deadline = time.monotonic() + _SECONDS_MAX
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return
        time.sleep(0.01)


def surveys(units: Units, names: Iterable[str], by_schema: bool) -> Iterator[tuple[str, Survey]]:
    """Judges units one after another."""
    reached: set[str] = set()
    for name in names:
        survey = units.survey(name)
        reached |= survey.operators | set(survey.skipped)
        yield name, survey
    if by_schema:
        yield BY_SCHEMA, units.survey(BY_SCHEMA, reached)
