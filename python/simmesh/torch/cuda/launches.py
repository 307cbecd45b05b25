"""The mode that sees each operator of a rank, and says on which stream it uses which tensors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode

from simmesh.torch import groups, rank_state
from simmesh.torch.cuda import devices, order, streams
from simmesh.torch.exact.accesses import is_run_by_autograd

# Operators for which the host waits, since their results, or the shapes of these, are needed there.
_SYNCHRONIZES = frozenset(
    ("aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::_unique2",
     "aten::equal", "aten::is_nonzero", "aten::bincount")
)  # fmt: skip

_TO_DEVICE, _TO_HOST = "the copy to a device", "the copy to the host"


class Launches(TorchDispatchMode):
    """Says what the operators of this thread use."""

    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        options = kwargs or {}
        plain = all(each in (torch.Tensor, torch.nn.Parameter) for each in types)
        found = order.current()
        if not plain:
            is_fake = any(issubclass(each, FakeTensor) for each in types)
            return func(*args, **options) if is_fake else NotImplemented
        if found is None or not isinstance(func, torch._ops.OpOverload):
            return func(*args, **options)
        name = func._schema.name
        if name.startswith(("c10d::", "_c10d_functional::")):
            return _collective(found, func, args, options)
        operands = [each for argument, value in _named(func, args, options)
                    for each in _tensors(value, _writes(argument))]  # fmt: skip
        if not operands or func.is_view or _state.is_uncounted:
            return _run(func, args, options)
        on_device = [each for each in operands if _is_on_device(each[0])]
        key = streams.current_stream()._key() if on_device else order.HOST
        count = found.launch(key)
        is_async = name == "aten::copy_" and bool(_option(args, options, 2, "non_blocking"))
        # In a backward pass torch orders the streams of its own operators.
        for tensor, is_written in () if is_run_by_autograd() else on_device or operands:
            found.use(tensor, key, count, _short(name), is_written)
        result = _run(func, args, options)
        if on_device:
            if name == "aten::copy_" and len(on_device) == 1:
                _note_copy(found, key, count, operands, is_async)
            elif name in _SYNCHRONIZES:
                found.join(order.HOST, found.clock(key))
            _make(found, key, count, _short(name), result)
        return result


def _note_copy(found: order.StreamOrder, key: order.Key, count: int,
               operands: list[tuple[torch.Tensor, bool]], is_async: bool) -> None:  # fmt: skip
    """Notes the use of the host's operand of ``copy_``, unless the host waits for the copy, as it
    does for memory that isn't pinned.
    """
    (target, _), (source, _) = operands
    on_host, is_target = (source, False) if _is_on_device(target) else (target, True)
    if is_async and devices.is_pinned(on_host):
        found.make(on_host, None)
        found.use(on_host, key, count, "aten.copy_", is_target)
    elif is_target:
        found.join(order.HOST, found.clock(key))


def _make(found: order.StreamOrder, key: order.Key, count: int, name: str, result: Any) -> None:
    """Notes the memory that an operator's results get."""
    for each, _ in _tensors(result, True):
        if devices.place(each) != devices.HOST and not order.is_made(each):
            devices.put(each, key[0])
            found.make(each, key, name)
            found.use(each, key, count, name, True)


def _collective(
    found: order.StreamOrder, func: Any, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Runs an operator of c10d on the stream of its group, after the stream that calls it."""
    state = rank_state.of_rank()
    before, state.recent.works = state.recent.works, []
    own = streams.current_stream()._key()
    found.launch(own)
    given = {argument.name: value for argument, value in _named(func, args, options)}
    key = found.group_key(str(given.get("group_name") or _name_of_group(given)))
    found.join(key, found.clock(own))
    count = found.launch(key)
    name = _short(func._schema.name)
    for argument, value in _named(func, args, options):
        is_output = argument.name.startswith("output") or _writes(argument)
        is_output = is_output or (argument.name == "tensors" and name not in ("send", "reduce"))
        for each, is_written in _tensors(value, is_output):
            if _is_on_device(each):
                found.use(each, key, count, name, is_written)
    try:
        result = _run(func, args, options)
    finally:
        works, state.recent.works = state.recent.works, before
        if before is not None:
            before.extend(works)
    found.begin_works(works, dict(found.clock(key)))
    if not works:
        found.join(own, found.clock(key))
    return result


def _name_of_group(given: dict[str, Any]) -> str:
    group = groups.group_of(given["process_group"]) if "process_group" in given else None
    return "" if group is None else f"{group.name} {group.members}"


def _short(name: str) -> str:
    return name.partition("::")[2].rstrip("_") if name.startswith("c10d") else name.replace(
        "aten::", "aten.")  # fmt: skip


def _is_on_device(tensor: torch.Tensor) -> bool:
    place = devices.place(tensor)
    return order.is_made(tensor) if place is None else place >= 0


def _writes(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _named(func: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Iterator[Any]:
    arguments = func._schema.arguments
    yield from zip(arguments, args)
    for argument in arguments[len(args) :]:
        if argument.name in options:
            yield argument, options[argument.name]


def _tensors(value: Any, is_written: bool) -> Iterator[tuple[torch.Tensor, bool]]:
    if isinstance(value, torch.Tensor):
        yield value, is_written
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _tensors(each, is_written)


def _option(args: tuple[Any, ...], options: dict[str, Any], place: int, name: str) -> Any:
    return args[place] if len(args) > place else options.get(name)


class _State(threading.local):
    """``is_uncounted`` while a thread moves a tensor, which is noted as a whole; ``is_calling``
    while the mode calls an operator.
    """

    is_uncounted = False
    is_calling = False


_state = _State()


def _run(func: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    _state.is_calling = True
    try:
        return func._op(*args, **options)
    finally:
        _state.is_calling = False


def is_calling() -> bool:
    """True if it is this mode that calls an operator, so that the mode of CUDA's names doesn't take
    it for a call of the program.
    """
    found, _state.is_calling = _state.is_calling, False
    return found


@contextmanager
def uncounted() -> Iterator[None]:
    """Looks at no operator."""
    _state.is_uncounted = True
    try:
        yield
    finally:
        _state.is_uncounted = False


def made(result: torch.Tensor) -> None:
    """Notes a tensor that a function has made, if it is on a device."""
    found, place = order.current(), devices.place(result)
    if found is None or place is None or place == devices.HOST or order.is_made(result):
        return
    key = streams.current_stream()._key()
    found.make(result, key, "a new tensor")
    found.use(result, key, found.launch(key), "a new tensor", True)


def read_by_host(tensor: torch.Tensor) -> None:
    """Notes that the host reads a tensor of its own."""
    found = order.current()
    if found is not None:
        found.use(tensor, order.HOST, found.launch(order.HOST), "the host's read", False)


def moved(tensor: torch.Tensor, result: torch.Tensor, index: int | None, waits: bool) -> None:
    """Notes a copy between the host and a device; ``waits`` says that the host waits for it."""
    found = order.current()
    if found is None or result is tensor or index is None:
        return
    key, is_to_host = streams.current_stream()._key(), index == devices.HOST
    count = found.launch(key)
    if not is_to_host:
        if not waits and devices.is_pinned(tensor):
            found.make(tensor, None)
            found.use(tensor, key, count, _TO_DEVICE, False)
        found.make(result, key, _TO_DEVICE)
        found.use(result, key, count, _TO_DEVICE, True)
        return
    found.use(tensor, key, count, _TO_HOST, False)
    if waits:
        found.join(order.HOST, found.clock(key))
    else:
        found.make(result, None)
        found.use(result, key, count, _TO_HOST, True)


@contextmanager
def looked_at() -> Iterator[None]:
    """Looks at what the operators of this thread use, and on which streams."""
    with order.looked_at(), Launches():
        yield
