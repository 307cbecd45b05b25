"""Records what a rank's program holds: each typed tensor, its types and its elements, forward and
backward.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from simmesh import _core
from simmesh.one_device.snapshot import Exact, snapshot_of

_ENTRY = "_simmesh_entry"

Key = tuple[Any, ...]


@dataclass(frozen=True)
class StatedType:
    """A type on an axis, with the axis's ranks and the place among those that cut one dim: 0 is the
    outermost.
    """

    axis: str
    ranks: tuple[int, ...]
    letter: str
    dim: int | None = None
    depth: int = 0

    @property
    def text(self) -> str:
        """The type as it is written: "S(0)"."""
        return self.letter if self.dim is None else f"S({self.dim})"

    def dual(self) -> StatedType:
        """The type of the gradient."""
        letter = _core.typed.dual(self.letter)
        return StatedType(self.axis, self.ranks, letter, self.dim, self.depth)


@dataclass
class Entry:
    """A tensor at one moment: where it comes from, its types, and its elements.

    ``what`` says it in words: "result of all_reduce". ``is_input`` is set for a tensor that no
    recorded call made, ``is_random`` for results of random numbers; ``users`` has the lines of
    later calls that take it.
    """

    key: Key
    what: str
    line: str
    exact: Exact
    is_input: bool = False
    is_random: bool = False
    is_gradient: bool = False
    types: tuple[StatedType, ...] = ()
    users: list[str] = field(default_factory=list)
    same_as: Key | None = None


class _Current(threading.local):
    def __init__(self) -> None:
        self.recorder: Recorder | None = None


_current = _Current()


def current_recorder() -> Recorder | None:
    """The recorder of this thread, if its program is recorded."""
    return _current.recorder


_RANDOM = frozenset({
    "dropout", "alpha_dropout", "feature_dropout", "dropout_", "rand_like", "randn_like",
    "randint_like", "bernoulli", "bernoulli_", "multinomial", "normal", "normal_", "uniform_",
    "random_", "exponential_", "rand", "randn", "randint", "randperm",
})  # fmt: skip


class Recorder(TorchFunctionMode):
    """Records the typed tensors of one rank, in the order of its program.

    It is the outermost mode: checkers inside of it have typed a call's results when the next call
    comes. On one device, where no axis has a type, ``keeps_all`` keeps gradients without types.
    """

    def __init__(self, keeps_all: bool = False) -> None:
        super().__init__()
        self._keeps_all = keeps_all
        self.entries: dict[Key, Entry] = {}
        self._counts: dict[Key, int] = {}
        self._pending: list[tuple[torch.Tensor, Entry]] = []

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Records all that runs inside."""
        _current.recorder = self
        try:
            with self:
                yield
            self.settle()
        finally:
            _current.recorder = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs a call, and records its operands and results."""
        from simmesh.typed.operators import name_of, results_of

        kwargs = kwargs or {}
        if _is_about_tensors(func):
            return func(*args, **kwargs)
        op, line = name_of(func), _core.call_site()
        self.settle()
        operands = results_of([args, {key: each for key, each in kwargs.items() if key != "out"}])
        inputs = [self._operand(each, op, line, at) for at, each in enumerate(operands)]
        result = func(*args, **kwargs)
        written = [args[0]] if _writes(op) and args and isinstance(args[0], torch.Tensor) else []
        results = [*results_of(result), *results_of(kwargs.get("out")), *written]
        seen: set[int] = set()
        for at, each in enumerate(results):
            if id(each) in seen or (op not in _KEEPING and _is_untouched(each, operands)):
                continue
            seen.add(id(each))
            entry = self._note(each, (op, at), f"result of {op}", line)
            if entry is not None:
                entry.is_random = op in _RANDOM
                self._hook_edges(each, entry, operands, inputs, op, line)
        return result

    def stated(self, tensor: torch.Tensor) -> None:
        """Records a tensor whose types a program states."""
        self.settle()
        known: Entry | None
        known, version = getattr(tensor, _ENTRY, (None, None))
        is_known = known is not None and version == tensor._version
        what, line = "tensor of assert_type", _core.call_site()
        if known is not None and is_known and (known.what, known.line) == (what, line):
            self._pending.append((tensor, known))  # a statement takes several steps
            return
        is_input = known is None or known.is_input or not known.types
        made = self._note(tensor, ("assert_type", 0), what, line, is_input)
        if made is not None and known is not None and is_known:
            made.same_as = known.key

    def settle(self) -> None:
        """Reads the types of what was recorded last, and forgets tensors without types."""
        pending, self._pending = self._pending, []
        for tensor, entry in pending:
            entry.types = stated_types(tensor)

    def typed_entries(self) -> dict[Key, Entry]:
        """The tensors that have types, in the order of the program; all on one device."""
        return {key: each for key, each in self.entries.items() if each.types or self._keeps_all}

    def _key(self, kind: str, line: str, place: Any) -> Key:
        counted = (kind, line, place)
        count = self._counts.get(counted, 0)
        self._counts[counted] = count + 1
        return (*counted, count)

    def _note(
        self, tensor: torch.Tensor, place: Any, what: str, line: str, is_input: bool = False
    ) -> Entry | None:
        with torch._C.DisableTorchFunction():
            snapshot = snapshot_of(tensor)
            if snapshot is None:
                return None
            entry = Entry(self._key("value", line, place), what, line, snapshot.exact, is_input)
            self.entries[entry.key] = entry
            self._pending.append((tensor, entry))
            setattr(tensor, _ENTRY, (entry, tensor._version))
            if tensor.requires_grad and tensor.is_floating_point():
                tensor.register_hook(self._gradient_hook(entry))
        return entry

    def _operand(self, tensor: torch.Tensor, op: str, line: str, at: int) -> Entry | None:
        """The entry of an operand; a new one if its elements changed, or if it has none."""
        known = getattr(tensor, _ENTRY, None)
        if known is not None and known[1] == tensor._version:
            entry: Entry = known[0]
        elif not stated_types(tensor):
            return None
        else:
            what = f"operand {at} of {op}"
            if known is not None:
                what += f", made at {known[0].line} and written since"
            made = self._note(tensor, (op, "operand", at), what, line, is_input=known is None)
            if made is None:
                return None
            entry = made
        entry.users.append(f"{line} ({op})")
        return entry

    def _gradient_hook(self, entry: Entry) -> Any:
        def record(gradient: torch.Tensor) -> None:
            self._gradient(entry, ("gradient", entry.key), f"gradient of the {entry.what}",
                           entry.line, gradient)  # fmt: skip

        return record

    def _gradient(
        self, entry: Entry, place: Any, what: str, line: str, gradient: torch.Tensor
    ) -> None:
        with torch._C.DisableTorchFunction():
            self.settle()
            snapshot = snapshot_of(gradient)
            if snapshot is None or not (entry.types or self._keeps_all):
                return
            key = self._key("gradient", line, place)
            self.entries[key] = Entry(
                key, what, line, snapshot.exact, is_gradient=True,
                types=tuple(each.dual() for each in entry.types), users=entry.users,
            )  # fmt: skip

    def _hook_edges(
        self, result: torch.Tensor, entry: Entry, operands: Sequence[torch.Tensor],
        inputs: Sequence[Entry | None], op: str, line: str,
    ) -> None:  # fmt: skip
        """Records the part of each operand's gradient that this call gives, where the call is one
        node of the graph.
        """
        node = result.grad_fn
        if node is None or any(each is result for each in operands):
            return
        with torch._C.DisableTorchFunction():
            places = [
                (at, each)
                for at, (operand, each) in enumerate(zip(operands, inputs))
                if each is not None and operand.requires_grad
            ]
            edges = [_edge_of(operands[at]) for at, _ in places]
            found = [
                (number, place)
                for number, edge in enumerate(node.next_functions)
                for place, known in zip(places, edges)
                if edge[0] is not None and edge == known
            ]
            if not found or len({number for number, _ in found}) < len(found):
                return

            def record(gradients: Any, _: Any) -> None:
                for number, (at, of) in found:
                    if gradients[number] is not None:
                        self._gradient(
                            of, ("part", entry.key, at),
                            f"gradient of the {of.what} ({of.line}), from the backward of {op}",
                            line, gradients[number],
                        )  # fmt: skip

            node.register_hook(record)


# Calls that give back their operand with another type.
_KEEPING = frozenset({"convert", "reinterpret", "redistribute", "all_reduce"})


def _is_about_tensors(func: Any) -> bool:
    from simmesh.typed.operators import PASSING, PROPERTIES

    name = getattr(func, "__name__", "")
    if name == "__get__":
        return getattr(func.__self__, "__name__", "") not in PROPERTIES
    return name in ("__set__", "__delete__", "backward") or name in PASSING


def _writes(op: str) -> bool:
    return op.endswith("_") and not op.endswith("__")


def _is_untouched(result: torch.Tensor, operands: Sequence[torch.Tensor]) -> bool:
    """True for an operand that a call returns as it was."""
    if not any(result is each for each in operands):
        return False
    known = getattr(result, _ENTRY, None)
    return known is not None and known[1] == result._version


def _edge_of(tensor: torch.Tensor) -> tuple[Any, int]:
    if tensor.grad_fn is not None:
        return tensor.grad_fn, tensor.output_nr
    return torch.autograd.graph.get_gradient_edge(tensor).node, 0


def stated_types(tensor: torch.Tensor) -> tuple[StatedType, ...]:
    """The types that a program has stated for a tensor, by this package or by spmd_types."""
    from simmesh.typed import stored
    from simmesh.typed.spmd_types_reader import types_by_spmd_types

    types = stored.types_on(tensor)
    if not types:
        return types_by_spmd_types(tensor)
    cuts = stored.cuts_on(tensor)
    naming = stored.Naming([types])
    found = []
    for axis, letter in types.items():
        dim, depth = None, 0
        for at, axes in enumerate(cuts):
            if axis in axes and letter == "V":
                dim, depth = at, axes.index(axis)
        found.append(StatedType(naming.name(axis), axis.ranks, letter, dim, depth))
    return tuple(sorted(found, key=lambda each: each.axis))
