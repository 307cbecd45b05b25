"""Complex numbers: sums, differences, products and copies, whose parts are exact real numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from simmesh._core.exact import Values
from simmesh.torch.exact import tables
from simmesh.torch.exact.companions import drop, has, values, write
from simmesh.torch.exact.dispatch import is_leaf
from simmesh.torch.exact.doubles import function, narrow, wide
from simmesh.torch.exact.movement import Numbered, assign, flat, numbers_of
from simmesh.torch.exact.tables import Handler, Operator, tensors_in

#: The real and the imaginary part of each element.
Parts = tuple[Values, Values]


def handler_of(operator: Operator) -> Handler | None:
    """The function that computes an operator of complex elements; None where there is none."""
    handler = _HANDLERS.get(tables.packet_of(operator))
    entry = tables.entry_of(operator)
    if handler is None and entry is not None and entry.family == "movement":
        return _moved
    if handler is None and entry is not None and entry.family == "lists":
        return entry.handler
    return handler


def enter(packet: str, handler: Handler) -> None:
    """Enters a function that also computes an operator of complex elements, and its in-place form.
    It reads its operands before it calls torch.
    """
    _HANDLERS[packet] = handler
    _HANDLERS[f"{packet}_"] = _in_place(handler)


def _raw(tensor: torch.Tensor) -> torch.Tensor:
    """The parts of the numbers in memory, which are conjugates of a conjugate view's."""
    return torch.view_as_real(tensor.conj() if tensor.is_conj() else tensor)


def _parts(value: Any, shape: torch.Size) -> Parts:
    """The parts of an operand for each element of a result."""
    if not isinstance(value, torch.Tensor):
        value = torch.tensor(complex(value), dtype=torch.complex128)
    value = value.expand(shape)
    if not value.dtype.is_complex:
        real = values(value)
        return real, real.scaled(0.0)
    raw = _raw(value)
    imaginary = values(raw[..., 1])
    return values(raw[..., 0]), imaginary.scaled(-1.0) if value.is_conj() else imaginary


def _added(args: tuple[Any, ...], options: dict[str, Any], shape: torch.Size, sign: float) -> Parts:
    alpha = sign * float(args[2] if len(args) > 2 else options.get("alpha", 1))
    (a, b), (c, d) = _parts(args[0], shape), _parts(args[1], shape)
    return a.plus(c, alpha), b.plus(d, alpha)


def _multiplied(args: tuple[Any, ...], options: dict[str, Any], shape: torch.Size) -> Parts:
    (a, b), (c, d) = _parts(args[0], shape), _parts(args[1], shape)
    return a.times(c).plus(b.times(d), -1.0), a.times(d).plus(b.times(c))


def _negated(args: tuple[Any, ...], options: dict[str, Any], shape: torch.Size) -> Parts:
    real, imaginary = _parts(args[0], shape)
    return real.scaled(-1.0), imaginary.scaled(-1.0)


def _conjugated(args: tuple[Any, ...], options: dict[str, Any], shape: torch.Size) -> Parts:
    real, imaginary = _parts(args[0], shape)
    return real, imaginary.scaled(-1.0)


def _computed(formula: Callable[[tuple[Any, ...], dict[str, Any], torch.Size], Parts]) -> Handler:
    def handler(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        shape = torch.broadcast_shapes(
            *(each.shape for each in args if isinstance(each, torch.Tensor))
        )
        parts = formula(args, options, shape)
        result = func(*args, **options)
        if result.numel():
            for into, part in zip(_raw(result).unbind(-1), parts):
                write(into, part)
        return result

    return handler


def _in_place(handler: Handler) -> Handler:
    """Writes into the first operand. What a parameter is set to is rounded."""

    def written(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        result = handler(func, args, options)
        if is_leaf(result):
            drop(result)
        return result

    return written


def assign_parts(target: torch.Tensor, source: torch.Tensor) -> None:
    """Moves what stands behind both parts to a target that has its elements already."""
    if target.numel() and source.dtype.is_complex and not source.is_conj():
        assign(_raw(target), _raw(source))
    elif target.numel():
        drop(_raw(target))


def _copied(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Moves both parts. A conversion between real and complex numbers rounds."""
    result = func(*args, **options)
    source = args[1] if tables.packet_of(func) == "copy_" else args[0]
    if result.dtype.is_complex and source.dtype.is_complex and not source.is_conj():
        assign(_raw(result), _raw(source.expand(result.shape)))
    elif result.dtype.is_complex:
        assign(_raw(result), torch.view_as_real(result.clone()))
    return result


@tables.exact("complex numbers", "complex")
def _joined(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Moves real numbers into the parts of a complex one."""
    result = func(*args, **options)
    for into, part in zip(_raw(result).unbind(-1), args[:2]):
        assign(into, part.expand(into.shape))
    return result


@tables.exact("complex numbers", "polar")
def _of_angle(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """r * cos(angle) and r * sin(angle), in float64."""
    result = func(*args, **options)
    length, angle = (wide(each).expand(result.shape).contiguous() for each in args[:2])
    for into, name in zip(_raw(result).unbind(-1), ("cos", "sin")):
        narrow(length * function(name, angle), into)
    return result


def _moved(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Moves numbers, and what stands behind their parts."""
    is_fill = tables.packet_of(func) in ("fill_", "zero_")
    operands = list(tensors_in(((), *options.values()) if is_fill else (*args, *options.values())))
    carrying = [each for each in operands if each.dtype.is_complex and has(each)]
    if any(each.is_conj() for each in carrying):
        raise NotImplementedError(
            "conjugates with unrounded parts are copied before they are moved"
        )
    result = func(*args, **options)
    for part in (0, 1) if carrying else ():
        given = [part_of(each, part) for each in args]
        named = {name: part_of(each, part) for name, each in options.items()}
        numbered = Numbered()
        numbers = numbers_of(func, tuple(given), named, numbered)
        for into, came_from in zip(flat(result), flat(numbers)):
            if into.numel():
                numbered.write(_raw(into)[..., part], came_from)
    for each in flat(result) if not carrying else ():
        drop(each)
    return result


def part_of(value: Any, part: int) -> Any:
    """One part of the complex numbers in an argument; other arguments as they are."""
    if isinstance(value, torch.Tensor) and value.dtype.is_complex:
        return _raw(value)[..., part]
    return [part_of(each, part) for each in value] if isinstance(value, (list, tuple)) else value


_HANDLERS: dict[str, Handler] = {
    "complex": _joined,
    "polar": _of_angle,
    "add": _computed(lambda args, options, shape: _added(args, options, shape, 1.0)),
    "sub": _computed(lambda args, options, shape: _added(args, options, shape, -1.0)),
    "rsub": _computed(
        lambda args, options, shape: _added((args[1], args[0], *args[2:]), options, shape, -1.0)
    ),
    "mul": _computed(_multiplied),
    "neg": _computed(_negated),
    "_conj_physical": _computed(_conjugated),
    "clone": _copied,
    "_to_copy": _copied,
    "copy_": _copied,
}
_HANDLERS |= {f"{name}_": _in_place(_HANDLERS[name]) for name in ("add", "sub", "mul", "neg")}
