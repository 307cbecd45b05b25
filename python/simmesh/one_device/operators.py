"""Finds the first operator at fault: a second run logs the operators between two noted values."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode

import simmesh
from simmesh import _core
from simmesh.one_device import reasons
from simmesh.one_device.layout import Layout
from simmesh.one_device.notebook import Key
from simmesh.one_device.search import Allowed, Found, find
from simmesh.one_device.snapshot import Exact, Snapshot, snapshot_of

_INTERNAL = tuple(os.path.dirname(str(module.__file__)) + os.sep for module in (torch, simmesh))
# These may read parts of a sum: their results are parts of one too.
_LINEAR = frozenset(f"aten.{name}" for name in (
    "bmm", "cat", "div", "index", "mean", "mm", "mul", "mul_", "neg", "select_backward",
    "slice_backward", "stack", "sum",
))  # fmt: skip
_PLAIN = (torch.Tensor, torch.nn.Parameter, FakeTensor)


@dataclass(frozen=True)
class Call:
    """A call of an operator: its tensors as they were before and after, its numbers, the line of
    the program, and the innermost module. A call in a backward pass has the line of the forward
    pass.
    """

    name: str
    line: str
    module: str
    is_backward: bool
    inputs: tuple[Snapshot, ...]
    outputs: tuple[Snapshot, ...]
    numbers: tuple[float, ...]


@dataclass(frozen=True)
class Window:
    """The part of a run that is logged: after ``begin`` is noted, or from the start, until ``end``
    is noted; of a backward pass alone if ``is_backward``.
    """

    begin: Key | None
    end: Key
    is_backward: bool = False


class OperatorLog(TorchDispatchMode):
    """Logs the operators of one rank in a window."""

    def __init__(self, window: Window) -> None:
        super().__init__()
        self.window = window
        self.calls: list[Call] = []
        self._is_open = window.begin is None
        self._modules: list[str] = []

    def __call__(self, key: Key) -> None:
        """Opens or closes the window."""
        if key == self.window.begin:
            self._is_open = True
        elif key == self.window.end:
            self._is_open = False

    @contextmanager
    def inside(self, module: str) -> Iterator[None]:
        """Says that a module is called."""
        self._modules.append(module)
        try:
            yield
        finally:
            self._modules.pop()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Logs a call on plain tensors, and calls the operator."""
        kwargs = kwargs or {}
        if any(each not in _PLAIN for each in types):
            return NotImplemented
        node = torch._C._current_autograd_node()
        is_in_window = self._is_open and (node is not None or not self.window.is_backward)
        if not is_in_window or FakeTensor in types or _is_left_out(func):
            return func(*args, **kwargs)
        inputs = _snapshots((*args, *kwargs.values()))
        result = func(*args, **kwargs)
        line = _core.call_site() if node is None else _line_of(node)
        module = self._modules[-1] if self._modules and node is None else ""
        name = str(func).rpartition(".")[0]
        outputs = _snapshots(args[:1] if result is None else (result,))
        numbers = tuple(
            each for each in (*args, *kwargs.values())
            if isinstance(each, (int, float)) and not isinstance(each, bool)
        )  # fmt: skip
        self.calls.append(Call(name, line, module, node is not None, inputs, outputs, numbers))
        return result


def _is_left_out(func: Any) -> bool:
    """True for views, makers of empty tensors and collectives, which compute nothing."""
    if func.namespace in ("c10d", "_c10d_functional", "prim"):
        return True
    returns = func._schema.returns
    is_view = any(each.alias_info is not None and not each.alias_info.is_write for each in returns)
    return is_view or "empty" in func._schema.name


def _snapshots(values: Any) -> tuple[Snapshot, ...]:
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            snapshot = snapshot_of(value)
            if snapshot is not None:
                found.append(snapshot)
        elif isinstance(value, (list, tuple)):
            found += _snapshots(value)
    return tuple(found)


def _line_of(node: Any) -> str:
    """The line of the program that made a node of the graph."""
    for text in reversed(node.metadata.get("traceback_", [])):
        match = re.match(r'\s*File "(.*?)", line (\d+)', text)
        if match and not match[1].startswith(_INTERNAL):
            return f"{os.path.basename(match[1])}:{match[2]}"
    return _core.call_site()


@dataclass(frozen=True)
class OperatorAtFault:
    """The first operator whose result no layout has, and why."""

    call: Call
    text: str
    details: str


def first_at_fault(
    one: Sequence[Call], ranks: Sequence[Sequence[Call]], layout: Layout
) -> OperatorAtFault | None:
    """The first operator of one device whose result isn't that of its counterpart on the ranks;
    None if each has one, or none that can be told.

    A counterpart has the same name, and comes after those of the operators before.
    """
    by_name = [_by_name(calls) for calls in ranks]
    begin: dict[str, int] = {}
    lonely: Call | None = None
    for call in one:
        groups = [each.get(call.name, []) for each in by_name]
        count = len(groups[0])
        if not call.outputs or any(len(each) != count for each in groups):
            continue
        first = begin.get(call.name, 0)
        match = next(
            (at for at in range(first, count)
             if _same(call, [each[at] for each in groups], layout)), None
        )  # fmt: skip
        if match is not None:
            begin[call.name] = match + 1
        elif first < count:
            return _at_fault(call, [each[first] for each in groups], layout)
        elif lonely is None and count > 0:
            lonely = call
    if lonely is None:
        return None
    return OperatorAtFault(lonely, "one device calls it once more than the ranks", "")


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
    told = "; ".join(f"operand {index} is {found.text}" for index, found in enumerate(operands))
    return f"its operands are one device's ({told}), its result is not"
