"""Accesses to buffers under way: tensors of an operation that has not been waited for.

An operation reads its inputs and writes its results at some moment before its wait returns. So
until then a program may read inputs, and nothing else. The mode sees each operator's operands, and
reports the first access that could come too early, whatever schedule it runs under.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from simmesh import _core
from simmesh.torch import groups, rank_state
from simmesh.torch.exact import tables
from simmesh.torch.exact.companions import scope
from simmesh.torch.exact.tables import Operator, tensors_in

# The tensors that an operator of c10d writes without the name of an output.
_WRITE_IN_PLACE = tables.words(
    "allreduce_ allreduce_coalesced_ broadcast_ recv_ recv_any_source_ reduce_"
)

_HERE = str(Path(__file__).parent)

#: Functional operators that wait for a tensor, or prepare it for that.
WAITS = ("wait_tensor", "_wrap_tensor_autograd")


class _Part:
    """The bytes of a tensor in its storage, which it keeps alive."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor.detach()
        self.storage = tensor.untyped_storage()
        self.begin = tensor.data_ptr()
        steps = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride()))
        self.end = self.begin + (steps + 1) * tensor.element_size() if tensor.numel() else 0

    def overlaps(self, other: _Part) -> bool:
        """True if an element of one is in the bytes of the other."""
        if self.end <= other.begin or other.end <= self.begin:
            return False
        if self.storage._cdata != other.storage._cdata:
            return False
        if self.tensor.is_contiguous() and other.tensor.is_contiguous():
            return True
        marks = torch.zeros(self.storage.nbytes(), dtype=torch.bool)
        base = self.storage.data_ptr()
        self._bytes_in(marks, base).fill_(True)
        return bool(other._bytes_in(marks, base).any())

    def _bytes_in(self, marks: torch.Tensor, base: int) -> torch.Tensor:
        size = self.tensor.element_size()
        shape, stride = [*self.tensor.shape, size], [each * size for each in self.tensor.stride()]
        return marks.as_strided(shape, [*stride, 1], self.begin - base)


@dataclass(eq=False)
class _Started:
    """An operation that was started: its name, where, and the tensors that it uses.

    ``backward`` is the number of the backward pass at whose end torch's C++ code waits for it, as
    DDP does; else -1.
    """

    name: str
    site: str
    operations: Sequence[_core.Operation]
    reads: list[_Part]
    writes: list[_Part]
    backward: int = -1

    def __post_init__(self) -> None:
        self.storages = {each.storage._cdata for each in (*self.reads, *self.writes)}


class UnderWay:
    """The operations of a rank that it has not waited for: ``started``."""

    def __init__(self) -> None:
        self.started: list[_Started] = []

    def start(self, name: str, works: Iterable[rank_state.StartedWork], reads: Iterable[Any],
              writes: Iterable[Any]) -> None:  # fmt: skip
        """Notes the operations of a call with the tensors that they read and write."""
        operations = [each for work in works for each in work.operations]
        if operations:
            site = str(_core.call_site())
            self.started.append(_Started(name, site, operations, _parts(reads), _parts(writes)))

    def end(self, operations: Iterable[_core.Operation], until_backward_ends: bool) -> None:
        """Forgets operations that were waited for, or those that torch waits for when the backward
        pass ends, once it has.
        """
        ended = {id(each) for each in operations}
        found = [each for each in self.started if {id(one) for one in each.operations} & ended]
        if until_backward_ends:
            for each in found:
                each.backward = torch._C._current_graph_task_id()
        else:
            self.started = [each for each in self.started if each not in found]

    def check(self, func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        """Raises RuntimeError if an operator reads or writes a tensor too early."""
        entry = tables.entry_of(func)
        if entry is not None and entry.family in ("views", "data"):
            return
        if tables.packet_of(func).endswith(WAITS):
            return
        task = torch._C._current_graph_task_id()
        self.started = [each for each in self.started if each.backward in (-1, task)]
        written = {each.name for each in func._schema.arguments if _is_written(each)}
        for name, value in tables.named_arguments(func, args, options).items():
            for tensor in tensors_in((value,)):
                is_plain = type(tensor) in (torch.Tensor, torch.nn.Parameter)
                if is_plain and tensor.numel() and tensor.layout is torch.strided:
                    self._check_tensor(func, tensor, name in written)

    def _check_tensor(self, func: Operator, tensor: torch.Tensor, is_written: bool) -> None:
        storage = tensor.untyped_storage()._cdata
        if all(storage not in each.storages for each in self.started):
            return
        part = _Part(tensor)
        for each in self.started:
            does_write = any(part.overlaps(other) for other in each.writes)
            if does_write or (is_written and any(part.overlaps(other) for other in each.reads)):
                if each.backward != -1 and is_run_by_autograd():
                    continue
                self.report(func, each, is_written, does_write)

    def report(self, func: Operator, each: _Started, is_written: bool, does_write: bool) -> None:
        """Raises RuntimeError for an access that could come too early."""
        _report(func, each, is_written, does_write)


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def is_run_by_autograd() -> bool:
    """True if torch's C++ code runs an operator in a backward pass: then the first Python code that
    the pass calls is a mode, or this module, which the exact mode calls from C++.
    """
    frame: Any = sys._getframe(1)
    first = frame.f_code
    while frame is not None and frame.f_code.co_name != "_engine_run_backward":
        file = frame.f_code.co_filename
        if not file.endswith("/_compile.py") and "/_dynamo/" not in file:
            first = frame.f_code
        frame = frame.f_back
    is_mode = first.co_name == "__torch_dispatch__" or first.co_filename.startswith(_HERE)
    return frame is not None and is_mode


def _report(func: Operator, started: _Started, is_written: bool, does_write: bool) -> None:
    access = "writes" if is_written else "reads"
    use = "writes" if does_write else "reads"
    raise RuntimeError(
        f"[torch/exact] rank {_core.rank()}: {tables.name_of(func)} at {_core.call_site()} "
        f"{access} a tensor that {started.name} at {started.site} {use}: expected a wait for that "
        "operation first, got none; check_accesses=False lets it pass"
    )


part_of = _Part


def _parts(values: Iterable[Any]) -> list[_Part]:
    return [_Part(each) for each in tensors_in(tuple(values)) if each.layout is torch.strided]


def started(func: Operator, args: tuple[Any, ...], options: dict[str, Any], call: Any) -> Any:
    """Calls an operator of ``c10d`` or of functional collectives, and notes what it starts."""
    under_way, state = scope.under_way, rank_state.current()
    if under_way is None or state is None:
        return call()
    works: list[rank_state.StartedWork] = []
    before, state.recent.works = state.recent.works, works
    try:
        result = call()
    finally:
        state.recent.works = before if before is None else [*before, *works]
    name = tables.name_of(func).partition("::")[2].partition(".")[0]
    given = tables.named_arguments(func, args, options)
    if tables.name_of(func).startswith("c10d::"):
        writes = [given[each] for each in given if each.startswith("output")]
        reads = [given[each] for each in given if each.startswith("input")]
        own = [given[each] for each in ("tensors",) if each in given]
        is_read = name == "send" or (name == "broadcast_" and _is_root(given))
        (writes if name in _WRITE_IN_PLACE and not is_read else reads).extend(own)
    else:
        reads, writes = list(given.values()), [result]
    under_way.start(name.rstrip("_"), works, reads, writes)
    return result


def _is_root(given: dict[str, Any]) -> bool:
    group = groups.group_of(given["process_group"])
    return group is not None and bool(group.rank == given["root_rank"])
