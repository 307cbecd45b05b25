"""The mode in which a rank's operators are computed exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode

from simmesh import _core
from simmesh.torch import rank_state
from simmesh.torch.exact import companions, complex_numbers, custom, tables
from simmesh.torch.exact.accesses import UnderWay
from simmesh.torch.exact.companions import scope
from simmesh.torch.exact.dispatch import is_floating
from simmesh.torch.exact.families import load
from simmesh.torch.exact.optimizers import noticed_steps
from simmesh.torch.exact.parameters import noticed_parameters
from simmesh.torch.exact.random import drawn, noticed_regions
from simmesh.torch.exact.shapes import kinds_of
from simmesh.torch.exact.tables import Handler, Operator, tensors_in

#: Called after each operator with the operator, its arguments, options and result.
observers: list[Callable[[Operator, tuple[Any, ...], dict[str, Any], Any], None]] = []

_runs: dict[Operator, Handler] = {}


class ExactMode(TorchDispatchMode):
    """Computes the operators of this thread with exact values, below autograd."""

    def __torch_dispatch__(
        self, func: Operator, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        options = kwargs or {}
        for each in types:
            if each is torch.Tensor or each is torch.nn.Parameter:
                continue
            return func(*args, **options) if issubclass(each, FakeTensor) else NotImplemented
        if scope.under_way:
            scope.under_way.check(func, args, options)
        run = _runs.get(func)
        if run is None:
            run = _runs[func] = _run_of(func)
        result = run(func, args, options)
        if observers:
            for observe in observers:
                observe(func, args, options, result)
        return result


@contextmanager
def exact_operators(check_accesses: bool = True) -> Iterator[ExactMode]:
    """Puts this thread in the mode. Accesses to buffers under way are reported in a rank, unless
    ``check_accesses`` is False.
    """
    load()
    before = scope.mode, scope.steps, scope.under_way
    mode = ExactMode()
    state = rank_state.current()
    scope.under_way = None
    is_first_thread = state is not None and state.under_way is None
    if state is not None and check_accesses:
        if state.under_way is None:
            state.under_way = UnderWay()
        scope.under_way = state.under_way
    with noticed_steps(), noticed_parameters(), noticed_regions(), mode:
        scope.mode, scope.steps, scope.coarsest_product = mode, 0, 0.0
        try:
            yield mode
        finally:
            scope.mode, scope.steps, scope.under_way = before
            if state is not None and is_first_thread:
                state.under_way = None


def forget(func: Operator) -> None:
    """Lets the table be asked again for an operator."""
    _runs.pop(func, None)


def _run_of(func: Operator) -> Handler:
    """The function that runs an operator in the mode."""
    entry = tables.entry_of(func)
    writes = kinds_of(func)
    if entry is not None and entry.kind == "safe":
        if entry.family == "random":
            return drawn
        return _WriteSafe(func, writes) if writes and entry.family != "views" else _safe
    if entry is None or entry.kind == "refused":
        return _Refused(entry.reason if entry is not None else "")
    assert entry.handler is not None
    if entry.family in ("collectives", "FSDP", "compositions"):
        return entry.handler
    if entry.family == "operators of programs":
        return _Composed(entry.handler)
    return _Computed(func, entry.handler, writes)


def _safe(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    _note_parameters(args)
    return func(*args, **options)


def _note_parameters(args: tuple[Any, ...]) -> None:
    for each in args:
        if isinstance(each, torch.nn.Parameter) and companions.has(each):
            companions.round_parameter(each)


class _WriteSafe:
    """Runs torch's kernel and forgets what stood behind the operands that it wrote."""

    def __init__(self, func: Operator, writes: tuple[str, ...]) -> None:
        names = [each.name for each in func._schema.arguments]
        self._places = [(names.index(name), name) for name in writes]

    def __call__(self, func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        result = func(*args, **options)
        for each in _written(self._places, args, options):
            companions.drop(each)
        return result


def _written(places: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    for at, name in places:
        value = args[at] if at < len(args) else options.get(name)
        if value is not None:
            yield from tensors_in((value,))


class _Computed:
    """Calls a handler where floating elements on the CPU are involved."""

    def __init__(self, func: Operator, handler: Handler, writes: tuple[str, ...]) -> None:
        self._handler = handler
        names = [each.name for each in func._schema.arguments]
        self._places = [(names.index(name), name) for name in writes]

    def __call__(self, func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        involved = False
        for each in _tensors(args, options):
            if not is_floating(each):
                continue
            if each.device.type != "cpu":
                return func(*args, **options)
            if each.layout is not torch.strided:
                return _Refused("sparse tensors are not computed exactly")(func, args, options)
            if each.dtype.is_complex:
                return _of_complex(func, args, options)
            involved = True
            if isinstance(each, torch.nn.Parameter) and companions.has(each):
                companions.round_parameter(each)
        if not involved and not _asks_for_floating(options):
            return func(*args, **options)
        if complex in map(type, args):
            return _of_complex(func, args, options)
        try:
            result = self._handler(func, args, options)
        except NotImplementedError as reason:
            return _Refused(str(reason))(func, args, options)
        for each in _written(self._places, args, options):
            if each.requires_grad and each.is_leaf:
                companions.drop(each)
        return result


class _Composed:
    """Calls a handler that composes an operator, and refuses the operator where it can't."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def __call__(self, func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if not any(is_floating(each) for each in _tensors(args, options)):
            return func(*args, **options)
        try:
            return self._handler(func, args, options)
        except custom.LeavesTorch as reason:
            return _Refused(str(reason))(func, args, options)


def _of_complex(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Computes an operator of complex numbers, or refuses it."""
    handler = complex_numbers.handler_of(func)
    if handler is None:
        return _Refused("complex numbers are added, multiplied and copied")(func, args, options)
    try:
        return handler(func, args, options)
    except NotImplementedError as reason:
        return _Refused(str(reason))(func, args, options)


def _tensors(args: tuple[Any, ...], options: dict[str, Any]) -> Iterator[torch.Tensor]:
    yield from tensors_in(args)
    if options:
        yield from tensors_in(tuple(options.values()))


def _asks_for_floating(options: dict[str, Any]) -> bool:
    dtype = options.get("dtype")
    return dtype is not None and dtype.is_floating_point


class _Refused:
    """Raises for floating elements; integers have no rounding."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __call__(self, func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if not any(is_floating(each) for each in _tensors(args, options)):
            return func(*args, **options)
        reason = f" ({self._reason})" if self._reason else ""
        raise NotImplementedError(
            f"[torch/exact] {tables.name_of(func)} at {_core.call_site()}: expected an operator "
            f"that local='exact' computes, got one that it doesn't{reason}; compute it from "
            "operators in docs/exact_pytorch_operators.md, or declare it with "
            "simmesh.torch.exact.declare"
        )
