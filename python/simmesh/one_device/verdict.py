"""The verdict about one layout of ranks: what was compared, and what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from simmesh.one_device import notebook as notes
from simmesh.one_device import reasons
from simmesh.one_device.layout import Layout
from simmesh.one_device.notebook import Key, Notebook
from simmesh.one_device.operator_at_fault import OperatorAtFault
from simmesh.one_device.operators import Window
from simmesh.one_device.rounding_steps import RoundingSteps
from simmesh.one_device.search import Found
from simmesh.one_device.value import drawn_apart, of_one_call

_MADE_BY_OPERATORS = frozenset(
    {notes.OUTPUT, notes.OUTPUT_GRADIENT, notes.GRADIENT, notes.LEFT_GRADIENT, notes.NOTED,
     notes.RETURNED}
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """A value that isn't one device's.

    ``is_limit`` says that exact arithmetic can't make it equal: then it is no fault of the
    program. ``text`` has the reason, ``details`` where, expected and came. ``factor`` is the
    number that all elements are times one device's. ``is_missing_sum`` says that the parts on the
    ranks add up to one device's. ``calls`` is the number of calls whose values are looked at
    together.
    """

    key: Key | None
    line: str
    text: str
    details: str = ""
    is_limit: bool = False
    factor: float | None = None
    is_missing_sum: bool = False
    calls: int = 1


@dataclass
class Verdict:
    """The comparison of one layout with one device.

    ``layouts`` has how each value lies on the ranks that is one device's. ``skipped`` has what
    couldn't be compared, with the reason. ``constant`` is the number of values that are compared
    and have several elements, all of them equal: a wrong layout of these may not show. ``drift`` is
    the largest difference of a parameter that follows from rounding, as a part of its largest
    element, and ``steps`` has the elements that an optimizer stepped by rounding errors.
    ``goes_on`` says that one device runs again from such elements; one of a file, or of a training
    that stops, does not.
    """

    layout: Layout
    findings: list[Finding] = field(default_factory=list)
    layouts: dict[Key, Found] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    compared: int = 0
    constant: int = 0
    drift: float = 0.0
    steps: RoundingSteps = field(default_factory=RoundingSteps)
    goes_on: bool = False
    operator: OperatorAtFault | None = None

    @property
    def faults(self) -> list[Finding]:
        """The findings that are faults of the program."""
        return [each for each in self.findings if not each.is_limit]

    @property
    def limits(self) -> list[Finding]:
        """The findings that are due to limits of exact arithmetic."""
        return [each for each in self.findings if each.is_limit]

    @property
    def limits_before_faults(self) -> list[Finding]:
        """The limits that don't follow from a fault."""
        first = next((at for at, each in enumerate(self.findings) if not each.is_limit), None)
        return [each for each in self.findings[:first] if each.is_limit]

    def excuse_random_numbers(self, one: Notebook, ranks: Sequence[Notebook]) -> None:
        """Makes limits of the faults that random numbers explain. A sum that is missing, an
        optimizer of other parameters, and other numbers for the same rows stay faults.
        """
        if self._have_drawn_apart(one, ranks):
            return
        first = next((at for at, each in enumerate(self.findings) if not each.is_limit), 0)
        call = None if self.operator is None else self.operator.call
        drawn = "" if call is None else f"{call.name}, {call.line}"
        for at, each in enumerate(self.findings[first:], first):
            if not each.is_limit and not each.is_missing_sum and each.key is not None:
                text = reasons.random(drawn) if at == first else reasons.AFTER_RANDOM
                self.findings[at] = replace(each, text=text, is_limit=True)
        self.operator = None

    def _have_drawn_apart(self, one: Notebook, ranks: Sequence[Notebook]) -> bool:
        """Says so, and returns True, if each rank has all of the first value at fault, and only
        some have one device's: these are replicas that drew other numbers.
        """
        at = next(at for at, each in enumerate(self.findings) if not each.is_limit)
        key = self.findings[at].key
        entry = None if key is None else one.entries.get(key)
        if key is None or entry is None or entry.snapshot is None:
            return False
        text = drawn_apart(of_one_call(entry, [each.entries.get(key) for each in ranks]))
        if text:
            self.findings[at] = replace(self.findings[at], text=text)
        return bool(text)

    def window(self, one: Notebook) -> Window | None:
        """The part of the program in which an operator made the first value at fault; None if
        that value was made by no operator, or the finding says all.
        """
        if not self.faults:
            return None
        first = self.faults[0]
        if first.key is None or first.is_missing_sum or first.calls > 1:
            return None
        if first.key.kind not in _MADE_BY_OPERATORS:
            return None
        if first.key.kind in notes.OF_GRADIENTS:
            return self._window_of_gradient(first.key)
        begin = None
        for key in one.entries:
            if key == first.key:
                break
            if key in self.layouts and not self.layouts[key].is_reordered:
                begin = key
        return Window(begin, first.key)

    def _window_of_gradient(self, key: Key) -> Window:
        """From the gradient of the output of the parameter's module."""
        module = key.name.rpartition(".")[0]
        begins = [
            each for each in self.layouts
            if each.kind == notes.OUTPUT_GRADIENT and each.name == module
        ]  # fmt: skip
        return Window(begins[0] if begins else None, key, is_backward=True)
