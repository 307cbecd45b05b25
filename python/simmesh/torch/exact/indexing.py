"""Operators that add elements at places which an index names."""

from __future__ import annotations

from typing import Any

import torch

from simmesh._core.exact import Values
from simmesh.torch.exact import tables
from simmesh.torch.exact.companions import values, write
from simmesh.torch.exact.movement import moved
from simmesh.torch.exact.tables import Operator


def places_of(shape: torch.Size) -> torch.Tensor:
    """The number of each element of a shape."""
    return torch.arange(shape.numel()).reshape(shape)


def add_at(result: torch.Tensor, base: Values | None, terms: Values, places: torch.Tensor) -> None:
    """Writes a base, or zeros, with terms added at places; those below 0 are left out."""
    added = terms.summed_at(places.reshape(-1).contiguous(), result.numel())
    write(result, added if base is None else base.plus(added))


@tables.exact("index sums", "index_add")
def _index_add(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    base, dim, index, source = args[:4]
    if _is_floating(result):
        places = places_of(base.shape).index_select(dim, index).expand(source.shape)
        add_at(result, values(base), values(source).scaled(float(options.get("alpha", 1))), places)
    return result


@tables.exact("index sums", "scatter_add")
def _scatter_add(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    base, dim, index, source = args[:4]
    if _is_floating(result):
        taken = source[tuple(slice(0, size) for size in index.shape)] if index.dim() else source
        add_at(result, values(base), values(taken), places_of(base.shape).gather(dim, index))
    return result


@tables.exact("index sums", "scatter_reduce.two scatter.reduce scatter.value_reduce")
def _scatter_reduce(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Sums are added as by scatter_add. The largest and the least don't depend on an order; means
    and products do.
    """
    base, dim, index, source = args[:4]
    reduce = args[4] if len(args) > 4 else options.get("reduce")
    includes = options.get("include_self", True)
    if reduce in ("amax", "amin") or not _is_floating(base):
        return func(*args, **options)
    if not isinstance(source, torch.Tensor):
        source = torch.full(index.shape, source, dtype=base.dtype)
    if reduce not in ("sum", "add", "mean"):
        raise NotImplementedError(f"reduce={reduce!r}, whose products depend on their order")
    result = func(*args, **options)
    places = places_of(base.shape).gather(dim, index).reshape(-1)
    taken = source[tuple(slice(0, size) for size in index.shape)] if index.dim() else source
    counts = torch.zeros(base.numel(), dtype=torch.float64)
    counts.index_add_(0, places, torch.ones(places.numel(), dtype=torch.float64))
    kept = values(base)
    if not includes:
        own = torch.where(counts == 0, torch.arange(base.numel()), torch.full((1,), -1))
        kept = kept.taken(own)
    total = kept.plus(values(taken).summed_at(places, base.numel()))
    if reduce == "mean":
        total = divided_each(total, (counts + includes).clamp(min=1))
    write(result, total)
    return result


def divided_each(total: Values, divisors: torch.Tensor) -> Values:
    """Divides each value by a number of its own, exactly."""
    found: Values | None = None
    places = torch.arange(divisors.numel())
    for divisor in divisors.unique().tolist():
        chosen = torch.where(divisors == divisor, places, torch.full((1,), -1))
        part = total.taken(chosen).divided(divisor)
        found = part if found is None else found.plus(part)
    return total if found is None else found


@tables.exact("index sums", "index_put _unsafe_index_put _index_put_impl")
def _index_put(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    accumulates = args[3] if len(args) > 3 else options.get("accumulate", False)
    if not accumulates or not _is_floating(args[0]):
        return moved(func, args, options)
    result = func(*args, **options)
    base, indices, source = args[:3]
    places = torch.ops.aten.index.Tensor(places_of(base.shape), indices)
    terms = source.to(base.dtype).expand(places.shape)
    add_at(result, values(base), values(terms), places)
    return result


@tables.exact("index sums", "put")
def _put(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    accumulates = args[3] if len(args) > 3 else options.get("accumulate", False)
    if not accumulates or not _is_floating(args[0]):
        return moved(func, args, options)
    result = func(*args, **options)
    base, index, source = args[:3]
    add_at(result, values(base), values(source.reshape(index.shape)), index % base.numel())
    return result


@tables.exact("index sums", "embedding_dense_backward")
def _embedding_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    gradient, index, rows, padding, by_frequency = args
    width = gradient.shape[-1]
    rows_of = index.reshape(-1, 1)
    places = rows_of * width + torch.arange(width)
    places = torch.where(rows_of == padding, torch.full((1,), -1), places)
    if not by_frequency:
        add_at(result, None, values(gradient), places)
        return result
    counts = torch.bincount(index.reshape(-1), minlength=rows).clamp(min=1).double()
    total = values(gradient).summed_at(places.reshape(-1), result.numel())
    write(result, divided_each(total, counts.repeat_interleave(width)))
    return result


@tables.exact("index sums", "unfold_backward")
def _unfold_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    gradient, sizes, dim, size, step = args
    add_at(result, None, values(gradient), places_of(torch.Size(sizes)).unfold(dim, size, step))
    return result


@tables.exact("index sums", "col2im")
def _columns_to_image(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    columns, _, kernel, dilation, padding, stride = args
    numbers = places_of(result.shape).double() + 1
    places = torch.ops.aten.im2col(numbers, kernel, dilation, padding, stride)
    add_at(result, None, values(columns), places.to(torch.int64) - 1)
    return result


@tables.exact(
    "index sums",
    "reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward "
    "replication_pad1d_backward replication_pad2d_backward replication_pad3d_backward",
)
def _pad_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Adds the gradient of each padded element where it came from."""
    result = func(*args, **options)
    gradient, image, padding = args
    pad = getattr(torch.ops.aten, tables.packet_of(func).removesuffix("_backward"))
    numbers = pad(places_of(image.shape).double(), padding)
    add_at(result, None, values(gradient), numbers.to(torch.int64))
    return result


@tables.exact("index sums", "max_pool2d_with_indices_backward max_pool3d_with_indices_backward "
              "adaptive_max_pool2d_backward adaptive_max_pool3d_backward")  # fmt: skip
def _max_pool_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Adds each gradient to the element that its window chose."""
    result = func(*args, **options)
    gradient, image, index = args[0], args[1], args[-1]
    spatial = 3 if "3d" in tables.packet_of(func) else 2
    area = image.shape[-spatial:].numel()
    images = torch.arange(image.numel() // area).reshape([*image.shape[:-spatial], *[1] * spatial])
    add_at(result, None, values(gradient), index + images * area)
    return result


@tables.exact("index sums", "_unsafe_masked_index_put_accumulate")
def _masked_add(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    base, mask, indices, source = args
    if _is_floating(result):
        numbers = torch.ops.aten._unsafe_masked_index(places_of(base.shape), mask, indices, -1)
        add_at(result, values(base), values(source.expand(numbers.shape)), numbers)
    return result


def _is_floating(tensor: torch.Tensor) -> bool:
    return tensor.dtype.is_floating_point and tensor.numel() > 0
