"""The mode in which a rank's operators are computed exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode

from simmesh import _core
from simmesh._core.exact import (
    dispatched,
    enter_operator,
    forget_operator,
    has_form,
    is_entered,
    run_operator,
    thread_scope,
)
from simmesh.torch import rank_state
from simmesh.torch.exact import companions, complex_numbers, custom, tables
from simmesh.torch.exact.accesses import UnderWay
from simmesh.torch.exact.companions import scope
from simmesh.torch.exact.direct import direct_of
from simmesh.torch.exact.dispatch import is_floating, is_leaf
from simmesh.torch.exact.families import load
from simmesh.torch.exact.forms import without_out, write_out
from simmesh.torch.exact.library_kernels import without_onednn
from simmesh.torch.exact.optimizers import noticed_steps
from simmesh.torch.exact.parameters import noticed_parameters
from simmesh.torch.exact.random import drawn, noticed_regions
from simmesh.torch.exact.shapes import kinds_of
from simmesh.torch.exact.tables import Handler, Operator, tensors_in

#: Called after each operator with the operator, its arguments, options and result.
observers: list[Callable[[Operator, tuple[Any, ...], dict[str, Any], Any], None]] = []

thread_scope(scope)


class ExactMode(TorchDispatchMode):
    """Computes the operators of this thread with exact values, below autograd. ``under_way`` are
    the operations whose buffers are checked.
    """

    observers = observers
    supports_higher_order_operators = True

    def __init__(self, under_way: UnderWay | None = None) -> None:
        super().__init__()
        self.under_way = under_way
        # torch asks the mode first, and so calls no Python code for what C++ computes.
        self.__dict__["__torch_dispatch__"] = MethodType(dispatched, self)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False, since ranks compile nothing and torch's guard takes longer than this mode."""
        return False

    def __torch_dispatch__(
        self, func: Operator, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return self.in_python(func, types, args, kwargs or {})

    def in_python(
        self, func: Operator, types: Any, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """Runs an operator on subclasses, for the first time, or under observers. An operator that
        takes functions, as flex attention, is composed of what torch's own kernel calls.
        """
        if isinstance(func, torch._ops.HigherOrderOperator):
            with self:
                return _of_functions(func, args, options)
        for each in types:
            if each is torch.Tensor or each is torch.nn.Parameter:
                continue
            return func(*args, **options) if issubclass(each, FakeTensor) else NotImplemented
        if self.under_way is not None and self.under_way.started:
            self.under_way.check(func, args, options)
        if not is_entered(func):
            _enter(func)
        result = run_operator(func, args, options)
        for observe in observers:
            observe(func, args, options, result)
        return result


def _of_functions(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Computes an operator that takes functions, whose operators come to the mode."""
    if not func.name().startswith("flex_attention"):
        raise _refusal(func, "of those that take functions, flex attention is computed")
    return func.dispatch(torch._C.DispatchKey.CompositeExplicitAutograd, *args, **options)


@contextmanager
def exact_operators(check_accesses: bool = True) -> Iterator[ExactMode]:
    """Puts this thread in the mode. Accesses to buffers under way are reported in a rank, unless
    ``check_accesses`` is False.
    """
    load()
    before = scope.mode, scope.steps, scope.under_way
    state = rank_state.current()
    scope.under_way = None
    is_first_thread = state is not None and state.under_way is None
    if state is not None and check_accesses:
        if state.under_way is None:
            state.under_way = UnderWay()
        scope.under_way = state.under_way
    mode = ExactMode(scope.under_way)
    with noticed_steps(), noticed_parameters(), noticed_regions(), without_onednn(), mode:
        scope.mode, scope.steps, scope.coarsest_product = mode, 0, 0.0
        try:
            yield mode
        finally:
            scope.mode, scope.steps, scope.under_way = before
            if state is not None and is_first_thread:
                state.under_way = None


def forget(func: Operator) -> None:
    """Lets the table be asked again for an operator."""
    forget_operator(func)


def _enter(func: Operator) -> None:
    """Says how an operator runs, by its entry in the table."""
    entry, torchs, direct = tables.entry_of(func), _torchs(func), direct_of(func)
    if entry is None or entry.kind != "safe":
        run, form = _run_of(func, entry), tables.name_of(func)
        if type(run) is _Computed and has_form(form):
            enter_operator(func, "formed", torchs, run, direct, form)
        else:
            enter_operator(func, "handled", torchs, run)
    elif entry.family == "random":
        enter_operator(func, "handled", torchs, drawn)
    elif entry.family == "views":
        enter_operator(func, "viewed", torchs, direct=direct)
    elif writes := kinds_of(func):
        if writes == (func._schema.arguments[0].name,) and _is_tensor(func._schema.arguments[0]):
            enter_operator(func, "written", torchs, direct=direct)
        else:
            enter_operator(func, "handled", torchs, _WriteSafe(func, writes))
    else:
        enter_operator(func, "passed", torchs, direct=direct)


def _is_tensor(argument: Any) -> bool:
    return str(argument.type) == "Tensor"


def _torchs(func: Operator) -> Callable[..., Any]:
    """Torch's own function, without the Python method that calls it."""
    return func._op if type(func) is torch._ops.OpOverload else func


def _run_of(func: Operator, entry: tables.Entry | None) -> Handler:
    """The function that computes an operator in the mode, or refuses it."""
    if entry is None or entry.kind == "refused":
        return _Refused(entry.reason if entry is not None else "")
    assert entry.handler is not None
    if entry.family in ("collectives", "FSDP", "compositions"):
        return entry.handler
    if entry.family == "operators of programs":
        return _Composed(entry.handler)
    return _Computed(func, entry.handler, kinds_of(func))


def _note_parameter(each: torch.Tensor) -> None:
    if companions.has(each):
        companions.round_parameter(each)


class _WriteSafe:
    """Runs torch's kernel and forgets what stood behind the operands that it wrote."""

    def __init__(self, func: Operator, writes: tuple[str, ...]) -> None:
        names = [each.name for each in func._schema.arguments]
        self._places = [(names.index(name), name) for name in writes]
        self._torchs = _torchs(func)

    def __call__(self, func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        result = self._torchs(*args, **options)
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
        if args and all(map(_is_plain, args)) and not options:
            return self._computed(func, args, options)
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
            if isinstance(each, torch.nn.Parameter):
                _note_parameter(each)
        if not involved and not _asks_for_floating(options):
            return func(*args, **options)
        if complex in map(type, args):
            return _of_complex(func, args, options)
        return self._computed(func, args, options)

    def _computed(self, func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        try:
            result = self._handler(func, args, options)
        except NotImplementedError as reason:
            return _Refused(str(reason))(func, args, options)
        if self._places:
            for each in _written(self._places, args, options):
                if is_leaf(each):
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
    functional = without_out(func) if tables.writes_out(func) else None
    handler = complex_numbers.handler_of(func if functional is None else functional)
    if handler is None:
        return _Refused("complex numbers have no form of it")(func, args, options)
    try:
        if functional is not None:
            return write_out(functional, handler, func, args, options)
        return handler(func, args, options)
    except NotImplementedError as reason:
        return _Refused(str(reason))(func, args, options)


_REAL = frozenset((torch.float32, torch.float64, torch.bfloat16, torch.float16))


def _is_plain(value: Any) -> bool:
    """True for a floating tensor of the CPU. Other arguments are looked at one by one."""
    return (
        value.__class__ is torch.Tensor
        and value.dtype in _REAL
        and value.is_cpu
        and value.layout is torch.strided
    )


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
        raise _refusal(func, self._reason)


def _refusal(func: Operator, reason: str) -> NotImplementedError:
    why = f" ({reason})" if reason else ""
    return NotImplementedError(
        f"[torch/exact] {tables.name_of(func)} at {_core.call_site()}: expected an operator "
        f"that local='exact' computes, got one that it doesn't{why}; compute it from "
        "operators in docs/exact_pytorch_operators.md, or declare it with "
        "simmesh.torch.exact.declare"
    )
