"""Finds the first operator at fault in the logs of one device and of ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from simmesh.one_device import reasons
from simmesh.one_device.layout import Layout
from simmesh.one_device.operators import Call
from simmesh.one_device.search import Allowed, Found, find
from simmesh.one_device.snapshot import Exact, Snapshot

# These may read parts of a sum: their results are parts of one too.
_LINEAR = frozenset(f"aten.{name}" for name in (
    "bmm", "cat", "div", "index", "mean", "mm", "mul", "mul_", "neg", "select_backward",
    "slice_backward", "stack", "sum",
))  # fmt: skip
_COPIES = frozenset(("aten.clone", "aten._to_copy", "aten.copy_"))
# These draw random numbers.
_RANDOM = frozenset(f"aten.{name}" for name in (
    "bernoulli", "bernoulli_", "exponential_", "multinomial", "native_dropout", "normal_", "rand",
    "rand_like", "randint", "randn", "randn_like", "randperm", "random_", "uniform_",
))  # fmt: skip


@dataclass(frozen=True)
class OperatorAtFault:
    """The first operator whose result no layout has, and why."""

    call: Call
    text: str
    details: str

    @property
    def is_random(self) -> bool:
        """True if the operator draws random numbers."""
        return self.call.name in _RANDOM


def first_at_fault(
    one: Sequence[Call], ranks: Sequence[Sequence[Call]], layout: Layout
) -> OperatorAtFault | None:
    """The first operator of one device whose result isn't that of its counterpart on the ranks;
    None if each has one, or none that can be told.

    A counterpart has the same name, and comes after those of the operators before. A result that
    differs is no fault if an operator that reads it has a right one, as rows of a vocabulary that
    another rank has are masked.
    """
    search = _Search(ranks, layout)
    lonely: Call | None = None
    absent: Call | None = None
    for place, call in enumerate(one):
        groups = search.counterparts(call)
        if groups is None or not _is_telling(call):
            if absent is None and _is_telling(call) and search.is_absent(call):
                absent = call
            continue
        if search.match(call, groups):
            continue
        begin = search.begin.get(call.name, 0)
        if begin == len(groups[0]):
            lonely = lonely or call
        elif not any(search.is_right(each) for each in _readers(call, one[place + 1 :])):
            return _at_fault(call, [each[begin] for each in groups], layout)
    if lonely is not None:
        return OperatorAtFault(lonely, "one device calls it once more than the ranks", "")
    if absent is not None:
        return OperatorAtFault(absent, "one device calls it, and no rank does", "")
    return None


class _Search:
    """The calls of the ranks by name, and the first of each name that has no counterpart yet."""

    def __init__(self, ranks: Sequence[Sequence[Call]], layout: Layout) -> None:
        self.layout = layout
        self.begin: dict[str, int] = {}
        self._calls = [_by_name(calls) for calls in ranks]

    def counterparts(self, call: Call) -> list[list[Call]] | None:
        """Each rank's calls of the same name; None if their number differs, or if there is none."""
        groups = [each.get(call.name, []) for each in self._calls]
        count = len(groups[0])
        return groups if count and all(len(each) == count for each in groups) else None

    def is_absent(self, call: Call) -> bool:
        """True if no rank calls an operator of this name, and that tells something: copies are made
        where they are needed, and the backward pass of a window has whole only its sums.
        """
        if call.name in _COPIES or ("the backward pass" in call.line and call.name != "aten.add_"):
            return False
        return not any(each.get(call.name) for each in self._calls)

    def match(self, call: Call, groups: list[list[Call]]) -> bool:
        """True if a counterpart has the call's result; the next call is looked for behind it."""
        begin = self.begin.get(call.name, 0)
        for at in range(begin, len(groups[0])):
            if _same(call, [each[at] for each in groups], self.layout):
                self.begin[call.name] = at + 1
                return True
        return False

    def is_right(self, call: Call) -> bool:
        """True if the ranks have the result of a call somewhere, and it isn't constant, as that of
        zeros_like is, which reads no elements.
        """
        groups = self.counterparts(call)
        if groups is None or not _is_telling(call) or all(map(_is_constant, call.outputs)):
            return False
        return any(
            _same(call, [each[at] for each in groups], self.layout) for at in range(len(groups[0]))
        )


def _is_telling(call: Call) -> bool:
    """True if the results are floating numbers: whole ones may count from another begin on each
    rank.
    """
    return any(each.exact.elements.is_floating_point() for each in call.outputs)


def _is_constant(snapshot: Snapshot) -> bool:
    elements = snapshot.exact.elements.reshape(-1)
    return len(elements) < 2 or bool((elements == elements[0]).all())


def _readers(call: Call, later: Sequence[Call]) -> Iterator[Call]:
    """The calls behind that read a result of a call, or a view of all of it."""
    made = {_bits(each) for each in call.outputs}
    for each in later:
        if any(_bits(operand) in made for operand in each.inputs):
            yield each


def _bits(snapshot: Snapshot) -> tuple[torch.dtype, bytes]:
    elements = snapshot.exact.elements
    return elements.dtype, elements.reshape(-1).view(torch.uint8).numpy().tobytes()


def _by_name(calls: Sequence[Call]) -> dict[str, list[Call]]:
    found: dict[str, list[Call]] = {}
    for each in calls:
        found.setdefault(each.name, []).append(each)
    return found


def _same(call: Call, others: Sequence[Call], layout: Layout) -> bool:
    if any(len(each.outputs) != len(call.outputs) for each in others):
        return False
    # Half of a value on each of two ranks may be meant, as bias / 2 is, or a wrong number.
    equal_parts = all(each.numbers == call.numbers for each in others)
    return all(
        _find(output.exact, [each.outputs[index].exact for each in others], call, layout,
              equal_parts) is not None
        for index, output in enumerate(call.outputs)
    )  # fmt: skip


def _find(
    one: Exact, ranks: list[Exact], call: Call, layout: Layout, equal_parts: bool = True
) -> Found | None:
    allowed = Allowed(pending=True, scale=call.is_backward, reordered=True, equal_parts=equal_parts)
    return find(one, list(ranks), layout, allowed)


def _at_fault(call: Call, others: Sequence[Call], layout: Layout) -> OperatorAtFault:
    wholes = [each.outputs[0].exact if each.outputs else None for each in others]
    return OperatorAtFault(
        call, _reason(call, others, layout),
        reasons.first_difference(call.outputs[0].exact, wholes, layout),
    )  # fmt: skip


def _reason(call: Call, others: Sequence[Call], layout: Layout) -> str:
    """Says what an operator does otherwise on the ranks, though the results before it are right."""
    operands: list[Found] = []
    for index, one in enumerate(call.inputs):
        ranks = [each.inputs[index].exact for each in others if index < len(each.inputs)]
        found = _find(one.exact, ranks, call, layout) if len(ranks) == len(others) else None
        if found is None:
            return (
                f"its operand {index} is not one device's, though the results of all operators "
                "before it are"
            )
        operands.append(found)
    for rank, each in enumerate(others):
        if each.numbers != call.numbers:
            return (
                f"it has the numbers {list(call.numbers)} on one device, and {list(each.numbers)} "
                f"on rank {rank}"
            )
    for index, found in enumerate(operands):
        is_part = any(piece.is_partial for piece in found.pieces)
        if is_part and call.name not in _LINEAR:
            return f"its operand {index} is {reasons.missing_sum(found, layout)} before it is read"
    exchanged = {index for index, found in enumerate(operands) if found.is_reordered}
    if exchanged and len(exchanged) < len(operands):
        index = min(exchanged)
        return f"its operand {index} has one device's rows in another order, and others have not"
    told = "; ".join(f"operand {index} is {found.text}" for index, found in enumerate(operands))
    return f"its operands are one device's ({told}), its result is not"
