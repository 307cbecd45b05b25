"""The mode in which names of CUDA's devices lead to the CPU.

A move between host and device copies there, and so it does here: a program that keeps
``tensor.cpu()`` keeps the values of that moment.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Callable

import torch
import torch.utils._device
from torch.overrides import TorchFunctionMode

from simmesh.torch.cuda import devices, launches

_TO = torch.Tensor.to
# The arguments of Tensor.to, by what comes first.
_OF_TO = {
    "device": ("device", "dtype", "non_blocking", "copy"),
    "dtype": ("dtype", "non_blocking", "copy"),
    "other": ("other", "non_blocking", "copy"),
}


class CudaNames(TorchFunctionMode):
    """Takes CUDA's names in functions of torch, and notes on which device their results are."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        options = kwargs or {}
        if launches.is_calling():
            return func(*args, **options)
        handler = _HANDLERS.get(func)
        if handler is not None:
            return handler(func, args, options)
        index = None
        if "device" not in options and (default := _default_device()) is not None:
            options = _with_default(func, options, default)
        if "device" in options:
            index, options = _without_device(options)
        is_pinned = options.get("pin_memory")
        if is_pinned:
            options = {**options, "pin_memory": False}
        if any(type(each) is str and each.startswith("cuda") for each in args):
            args, index = _without_names(args)
        result = func(*args, **options)
        _note(result, args, options, index)
        return devices.pin(result) if is_pinned else result


# torch puts its mode for the default device below all others, which would not see it.
def _default_device() -> torch.device | None:
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return getattr(context, "device", None)


def _with_default(func: Any, options: dict[str, Any], default: torch.device) -> dict[str, Any]:
    makes = func in torch.utils._device._device_constructors()
    return {**options, "device": default} if makes else options


def _without_device(options: dict[str, Any]) -> tuple[int | None, dict[str, Any]]:
    named = options["device"]
    if named is None:
        return None, options
    index = devices.index_of(named)
    if index is None:
        is_host = torch.device(named).type == "cpu"
        return (devices.HOST if is_host else None), options
    return index, {**options, "device": devices.device(index)}


def _without_names(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], int | None]:
    found = [devices.index_of(each) if type(each) is str else None for each in args]
    known = [index for index in found if index is not None]
    changed = tuple(
        each if index is None else devices.device(index) for each, index in zip(args, found)
    )
    return changed, known[0] if known else None


def _note(result: Any, args: Any, options: dict[str, Any], index: int | None) -> None:
    """Notes where a result is: where it was asked for, or else on the device of an operand."""
    if isinstance(result, torch.Tensor):
        where = _place_of(args, options) if index is None else index
        devices.put(result, where)
        launches.made(result)
    elif type(result) in (tuple, list) and result:
        where = _place_of(args, options) if index is None else index
        for each in result:
            if isinstance(each, torch.Tensor):
                devices.put(each, where)
                launches.made(each)


def _place_of(args: Any, options: dict[str, Any]) -> int | None:
    found: int | None = devices.HOST
    waiting = [*args, *options.values()]
    for each in waiting:
        if isinstance(each, torch.Tensor):
            where = devices.place(each)
            if where is None:
                found = None
            elif where != devices.HOST:
                return where
        elif type(each) in (tuple, list):
            waiting.extend(inner for inner in each if isinstance(inner, torch.Tensor))
    return found


def _moved(tensor: torch.Tensor, index: int | None, options: dict[str, Any]) -> Any:
    """The tensor on a device, or on the host: a copy unless it is there."""
    is_move = index is not None and devices.place(tensor) != index
    if is_move:
        options = {**options, "copy": True}
    with launches.uncounted() if is_move else nullcontext():
        result = _TO(tensor, **options)
    devices.put(result, index)
    if is_move:
        launches.moved(tensor, result, index, not options.get("non_blocking"))
    return result


def _to(func: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    tensor, *rest = args
    if rest:
        first = rest[0]
        kind = "other" if isinstance(first, torch.Tensor) else "device"
        kind = "dtype" if isinstance(first, torch.dtype) else kind
        options = {**dict(zip(_OF_TO[kind], rest)), **options}
    other = options.pop("other", None) if "other" in options else None
    if other is not None:
        options = {**options, "dtype": other.dtype, "device": other.device}
        index = devices.place(other)
    elif options.get("device") is None:
        index = devices.place(tensor)
    else:
        index, options = _without_device(options)
    return _moved(tensor, index, options)


def _cuda(func: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    names = ("device", "non_blocking")
    options = {**dict(zip(names, args[1:])), **options}
    index = devices.index_or_current(options.pop("device", None))
    return _moved(args[0], index, {**options, "device": devices.device(index)})


def _cpu(func: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    options = {**dict(zip(("memory_format",), args[1:])), **options}
    return _moved(args[0], devices.HOST, {**options, "device": "cpu"})


def _type(func: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    options = {**dict(zip(("dtype", "non_blocking"), args[1:])), **options}
    name = options.get("dtype")
    if not isinstance(name, str) or not name.startswith("torch.cuda."):
        result = func(args[0], **options)
        if isinstance(result, torch.Tensor):
            _note(result, args, {}, None)
        return result
    dtype = torch.empty(0).type(name.replace("torch.cuda.", "torch.")).dtype
    index = devices.current()
    return _moved(args[0], index, {"dtype": dtype, "device": devices.device(index)})


def _device(func: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """``torch.device``: devices of CUDA are those of the rank."""
    is_known = len(args) == 1 and not options and type(args[0]) in (torch.device, int)
    named = args[0] if is_known else func(*args, **options)
    index = devices.index_of(named)
    return named if index is None else devices.device(index)


def _parse_to(func: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The arguments of ``Module.to``."""
    first = args[0] if args else options.get("device")
    index = devices.index_of(first)
    if index is None:
        return func(*args, **options)
    if args:
        args = ("cpu", *args[1:])
    else:
        options = {**options, "device": "cpu"}
    _, *rest = func(*args, **options)
    return (devices.device(index), *rest)


def _device_of(func: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    where = devices.place(args[0])
    own = func(*args, **options)
    return own if where in (None, devices.HOST) or own.type != "cpu" else devices.device(where)


def _get_device(func: Any, args: tuple[Any, ...], options: dict[str, Any]) -> int:
    where = devices.place(args[0])
    return int(func(*args, **options)) if where is None else where


def _pinned(func: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    tensor = args[0]
    if devices.is_pinned(tensor):
        return tensor
    copy = devices.pin(tensor.clone())
    devices.put(copy, devices.HOST)
    return copy


def _read_by_host(func: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    launches.read_by_host(args[0])
    return func(*args, **options)


_HANDLERS: dict[Any, Callable[..., Any]] = {
    torch.device: _device,
    torch._C._nn._parse_to: _parse_to,
    torch.Tensor.to: _to,
    torch.Tensor.cuda: _cuda,
    torch.Tensor.cpu: _cpu,
    torch.Tensor.type: _type,
    torch.Tensor.device.__get__: _device_of,  # type: ignore[attr-defined]
    torch.Tensor.get_device: _get_device,
    torch.get_device: _get_device,
    torch.Tensor.pin_memory: _pinned,
    torch.Tensor.tolist: _read_by_host,
    torch.Tensor.numpy: _read_by_host,
    torch.Tensor.__array__: _read_by_host,
    torch.Tensor.is_pinned: lambda func, args, options: devices.is_pinned(args[0]),
}
