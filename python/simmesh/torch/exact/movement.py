"""Operators that move elements, and what stands behind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from simmesh._core.exact import Values
from simmesh.torch.exact import companions, tables
from simmesh.torch.exact.companions import carried, drop, has, is_parameter, keep
from simmesh.torch.exact.dispatch import is_backward
from simmesh.torch.exact.tables import Operator, tensors_in


def assign(target: torch.Tensor, source: torch.Tensor) -> None:
    """Moves what stands behind a source to a target that has its elements already. A conversion
    to another dtype rounds in a forward pass and carries in a backward pass.
    """
    if not target.dtype.is_floating_point:
        return
    if _carries(source, target):
        shaped = source if source.shape == target.shape else source.expand(target.shape)
        keep(target, carried(shaped))
    else:
        drop(target)


@tables.exact("movement", "clone _to_copy contiguous _lazy_clone lift_fresh_copy")
def _copied(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    if isinstance(args[0], torch.Tensor):  # transforms copy plain numbers too
        assign(result, args[0])
    return result


@tables.exact("movement", "copy_")
def _copy(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    target, source = args[0], args[1]
    if target.data_ptr() == source.data_ptr() and target.stride() == source.stride():
        return target
    if not _carries(source, target):
        func(*args, **options)
        drop(target)
        return target
    moved = carried(source)
    func(*args, **options)
    keep(target, moved if source.shape == target.shape else _spread(moved, source, target))
    return target


def _carries(source: torch.Tensor, target: torch.Tensor) -> bool:
    """True if more than the target's own elements may stand behind them after a copy."""
    if source.dtype is target.dtype:
        return has(source) and source.dtype.is_floating_point
    if not (source.dtype.is_floating_point and target.dtype.is_floating_point):
        return False
    if source.element_size() == 1 or target.element_size() == 1:  # of eight bits: keeps nothing
        return False
    return is_backward() and not is_parameter(source)


def _spread(moved: Values, source: torch.Tensor, target: torch.Tensor) -> Values:
    places = torch.arange(source.numel()).reshape(source.shape).expand(target.shape)
    return moved.taken(places.reshape(-1))


@tables.exact("movement", "_foreach_copy_")
def _copy_each(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    for target, source in zip(args[0], args[1]):
        _copy(torch.ops.aten.copy_.default, (target, source), {})


@tables.exact("movement", "cat stack _stack")
def _joined(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    parts, dim = args[0], args[1] if len(args) > 1 else options.get("dim", 0)
    if any(map(has, parts)):
        _write_joined(result, parts, dim, tables.packet_of(func) != "cat")
    return result


def _write_joined(result: torch.Tensor, parts: Any, dim: int, is_stack: bool) -> None:
    if not is_stack and _write_together(result, parts, dim):
        return
    begin = 0
    for part in parts:
        if not is_stack and part.dim() == 1 and part.numel() == 0:
            continue  # torch lets an empty vector into any cat
        length = 1 if is_stack else part.shape[dim]
        into = result.narrow(dim, begin, length)
        assign(into.squeeze(dim) if is_stack else into, part)
        begin += length


def _write_together(result: torch.Tensor, parts: Any, dim: int) -> bool:
    """Writes values of one kind in one piece; False for others."""
    if any(part.dtype is not result.dtype or part.dim() != result.dim() for part in parts):
        return False
    found = [carried(part) for part in parts]
    if any(each.is_root or each.divisor != found[0].divisor for each in found):
        return False
    joined = found[0].joined(*found[1:])
    if dim % result.dim() != 0:
        places, begin = [], 0
        for part in parts:
            end = begin + part.numel()
            places.append(torch.arange(begin, end).view(part.shape))
            begin = end
        joined = joined.taken(torch.cat(places, dim).view(-1))
    keep(result, joined)
    return True


@tables.exact("movement", "slice_backward select_backward")
def _placed(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Writes a gradient into zeros."""
    result = func(*args, **options)
    dim = args[2]
    if tables.packet_of(func) == "select_backward":
        assign(result.select(dim, args[3]), args[0])
    else:
        index = slice(args[3], args[4], args[5])
        assign(result[(slice(None),) * (dim % result.dim()) + (index,)], args[0])
    return result


@tables.exact(
    "movement",
    "index.Tensor _unsafe_index.Tensor index_select gather embedding where.self masked_fill "
    "masked_select masked_scatter constant_pad_nd tril triu repeat flip roll rot90 take "
    "index_fill index_copy scatter.src scatter.value take_along_dim "
    "copy zero resize resize_as _resize_output "
    "diagonal_backward diag_embed pixel_shuffle pixel_unshuffle channel_shuffle block_diag "
    "split_with_sizes_copy _chunk_cat masked_scatter_backward _reshape_copy repeat_interleave "
    "unsafe_split unsafe_split_with_sizes reflection_pad1d reflection_pad2d reflection_pad3d "
    "replication_pad1d replication_pad2d replication_pad3d "
    "im2col as_strided_scatter slice_scatter select_scatter "
    "diagonal_scatter _pack_padded_sequence _unsafe_masked_index",
)
def moved(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Runs an operator, and once more on the numbers of its operands' elements, to see which
    element came where. Elements that come from nowhere, such as zeros, are as torch wrote them.
    """
    if not any(each.dtype.is_floating_point and has(each) for each in _all(args, options)):
        result = func(*args, **options)
        _drop_floating(result)
        return result
    numbered = Numbered()
    numbers = numbers_of(func, args, options, numbered)
    result = func(*args, **options)
    for into, came_from in zip(flat(result), flat(numbers)):
        if into.dtype.is_floating_point and into.numel():
            numbered.write(into, came_from)
    return result


def numbers_of(
    func: Operator, args: tuple[Any, ...], options: dict[str, Any], numbered: Numbered
) -> Any:
    """The result of an operator on the numbers of its operands' elements."""
    names = [each.name for each in func._schema.arguments]
    made = [_number(name, each, numbered) for name, each in zip(names, args)]
    more = {name: _number(name, each, numbered) for name, each in options.items()}
    return func(*made, **more)


def _number(name: str, value: Any, numbered: Numbered) -> Any:
    if isinstance(value, torch.Tensor):
        return numbered.number(value) if value.dtype.is_floating_point else value
    if isinstance(value, (list, tuple)) and any(isinstance(each, torch.Tensor) for each in value):
        return [_number(name, each, numbered) for each in value]
    return 0 if name in ("value", "fill", "fill_value") else value


class Numbered:
    """Operands whose elements have the numbers from 1 on; 0 stands for none."""

    def __init__(self) -> None:
        self._next = 1
        self._operands: list[torch.Tensor] = []

    def number(self, tensor: torch.Tensor) -> torch.Tensor:
        """Numbers of a tensor's elements, which are written down as an operand."""
        self._operands.append(tensor.detach())
        begin, self._next = self._next, self._next + tensor.numel()
        return torch.arange(begin, self._next, dtype=torch.float64).reshape(tensor.shape)

    def write(self, into: torch.Tensor, came_from: torch.Tensor) -> None:
        """Keeps behind a result what stands behind the elements that it came from."""
        came_from = came_from.to(torch.int64)
        parts = [carried(each) for each in self._operands]
        own = Values.of(into)
        if any(each.is_root for each in parts):
            # A root moves only together with roots: elsewhere its element counts.
            if all(each.is_root for each in parts) and bool((came_from > 0).all()):
                keep(into, parts[0].joined(*parts[1:]).taken(came_from.reshape(-1) - 1))
                return
            parts = [Values.of(each) for each in self._operands]
        places = came_from.reshape(-1) - 1
        fallback = torch.arange(self._next - 1, self._next - 1 + into.numel())
        places = torch.where(places < 0, fallback, places)
        keep(into, parts[0].joined(*parts[1:], own).taken(places))


def _all(args: tuple[Any, ...], options: dict[str, Any]) -> Iterator[torch.Tensor]:
    yield from tensors_in(args)
    yield from tensors_in(tuple(options.values()))


def flat(result: Any) -> list[torch.Tensor]:
    """The tensors of a result."""
    return [result] if isinstance(result, torch.Tensor) else list(tensors_in(result or ()))


def _drop_floating(result: Any) -> None:
    for each in flat(result):
        if each.dtype.is_floating_point:
            companions.drop(each)


@tables.rule
def _view_copy(operator: Operator) -> tables.Entry | None:
    """``name_copy`` copies the elements of the view ``name``."""
    packet = tables.packet_of(operator)
    base = packet.removesuffix("_copy")
    is_copy = base != packet and hasattr(torch.ops.aten, base)
    is_copy &= not any(each.is_out for each in operator._schema.arguments)
    return tables.Entry("exact", "movement", handler=moved) if is_copy else None


@tables.exact("movement", "fill_ zero_ fill _foreach_zero_")
def _filled(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Writes one value everywhere; a tensor's value is moved."""
    result = func(*args, **options)
    targets = args[0] if isinstance(args[0], (list, tuple)) else [result]
    source = args[1] if len(args) > 1 else None
    for target in targets:
        if isinstance(source, torch.Tensor):
            assign(target, source)
        else:
            companions.drop(target)
    return result


# Comparisons read rounded elements, and the chosen ones are read rounded too.
tables.safe(
    "comparisons",
    "sort topk kthvalue max min median nanmedian mode cummax cummin _cummax_helper _cummin_helper "
    "amax amin aminmax _aminmax max_pool2d_with_indices max_pool3d_with_indices "
    "adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d fractional_max_pool3d "
    "unique_dim _unique _unique2 unique_consecutive unique_dim_consecutive",
)
