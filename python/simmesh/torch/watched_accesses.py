"""Accesses to buffers under way in ranks whose operators are torch's own.

A mode sees each operator, as that of exact operators does. It reports nothing: an access that may
come too early or in time is one whose moment depends on the schedule. A run that is to prove all
schedules notes it, and a run of an exploration asks the schedule first, so that both are tried.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode

from simmesh.torch import rank_state, unwatched
from simmesh.torch.exact import accesses, tables
from simmesh.torch.exact.accesses import UnderWay
from simmesh.torch.exact.companions import scope

_COLLECTIVES = ("c10d", "_c10d_functional", "_c10d_functional_autograd", "_dtensor")


class WatchedUnderWay(UnderWay):
    """The operations that a rank hasn't waited for, and the storages that other code can use."""

    def __init__(self, asks: bool) -> None:
        super().__init__()
        self._asks = asks
        self._given_away: set[int] = set()

    def start(self, name: str, works: Iterable[rank_state.StartedWork], reads: Iterable[Any],
              writes: Iterable[Any]) -> None:  # fmt: skip
        before = len(self.started)
        super().start(name, works, reads, writes)
        for each in self.started[before:]:
            for part in (*each.reads, *each.writes):
                if part.storage._cdata in self._given_away:
                    unwatched.note("memory of a collective that NumPy or other code knows")

    def check(self, func: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        if not _is_view(func):
            super().check(func, args, options)

    def read_outside(self, tensor: torch.Tensor, name: str, lasts: bool) -> None:
        """Notes that code outside of torch's operators gets at a tensor, for longer than this
        call if it ``lasts``.
        """
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or not tensor.numel():
            return
        if tensor.layout is not torch.strided:
            return
        if lasts:
            self._given_away.add(tensor.untyped_storage()._cdata)
        part = accesses.part_of(tensor)
        for each in self.started:
            if any(part.overlaps(other) for other in (*each.reads, *each.writes)):
                self._meet(each, f"{name} of a tensor")

    def report(self, func: Any, each: Any, is_written: bool, does_write: bool) -> None:
        self._meet(each, f"{tables.name_of(func)} on a tensor")

    def _meet(self, each: Any, access: str) -> None:
        if self._asks:
            for operation in each.operations:
                operation.is_completed()
        else:
            unwatched.note(f"{access} of {each.name} under way, started at {each.site},")


class _AccessMode(TorchDispatchMode):
    """Looks at the operands of this thread's operators while operations are under way."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        options = kwargs or {}
        for each in types:
            if each is torch.Tensor or each is torch.nn.Parameter:
                continue
            return func(*args, **options) if issubclass(each, FakeTensor) else NotImplemented
        if scope.under_way is not None and scope.under_way.started:
            scope.under_way.check(func, args, options)
        if func.namespace in _COLLECTIVES and not tables.packet_of(func).endswith(accesses.WAITS):
            return accesses.started(func, args, options, lambda: func(*args, **options))
        return func(*args, **options)


@contextmanager
def watched_accesses(asks: bool) -> Iterator[None]:
    """Watches this thread of a rank. ``asks`` makes each access that meets an operation under way a
    point of the schedule; otherwise it is noted.
    """
    state = rank_state.of_rank()
    before = scope.under_way
    is_first_thread = state.under_way is None
    if state.under_way is None:
        state.under_way = WatchedUnderWay(asks)
    with _AccessMode():
        scope.under_way = state.under_way
        try:
            yield
        finally:
            scope.under_way = before
            if is_first_thread:
                state.under_way = None


@functools.cache
def _is_view(func: Any) -> bool:
    """True for an operator that touches no element: its results share those of an operand."""
    schema = func._schema
    if any(each.alias_info is not None and each.alias_info.is_write for each in schema.arguments):
        return False
    return any(each.alias_info is not None for each in schema.returns)
