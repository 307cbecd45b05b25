"""Logs the operators of a rank between two noted values."""

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
from simmesh.one_device.notebook import Key
from simmesh.one_device.snapshot import Snapshot, snapshot_of

_INTERNAL = tuple(os.path.dirname(str(module.__file__)) + os.sep for module in (torch, simmesh))
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
