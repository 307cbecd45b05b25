"""Bags of embeddings: sums, means and maxima of rows of a table."""

from __future__ import annotations

from typing import Any

import torch

from simmesh._core.exact import Values
from simmesh.torch.exact import tables
from simmesh.torch.exact.companions import values, write
from simmesh.torch.exact.indexing import add_at, divided_each, places_of
from simmesh.torch.exact.sums import summed_last
from simmesh.torch.exact.tables import Operator

_SUM, _MEAN = 0, 1


def _bag_of(indices: torch.Tensor, offsets: torch.Tensor, bags: int) -> torch.Tensor:
    """The number of the bag that each index belongs to."""
    places = torch.arange(indices.numel())
    found = torch.searchsorted(offsets.to(torch.int64), places, right=True) - 1
    return found.clamp(max=bags - 1)


def _refuse_sparse(given: dict[str, Any]) -> None:
    if given.get("sparse"):
        raise NotImplementedError("sparse gradients are not computed exactly")


@tables.exact("index sums", "_embedding_bag _embedding_bag_forward_only")
def _bags(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    given = tables.named_arguments(func, args, options)
    result = func(*args, **options)
    output, mode = result[0], given["mode"]
    if mode not in (_SUM, _MEAN) or output.numel() == 0:
        return result
    weight, indices = given["weight"], given["indices"]
    width, padding = weight.shape[1], given["padding_idx"]
    bag = _bag_of(indices, given["offsets"], output.shape[0])
    is_counted = indices != padding if padding >= 0 else torch.ones_like(indices, dtype=torch.bool)
    rows = torch.arange(width) + indices.reshape(-1, 1) * width
    terms = values(weight).taken(rows.reshape(-1))
    scales = given["per_sample_weights"]
    if scales is not None:
        terms = terms.times(values(scales.reshape(-1, 1).expand(rows.shape)))
    places = torch.where(is_counted, bag, -1).reshape(-1, 1)
    places = torch.where(places < 0, -1, places * width + torch.arange(width))
    total = terms.summed_at(places.reshape(-1), output.numel())
    if mode == _MEAN:
        total = divided_each(total, _counts(bag[is_counted], output.shape[0], width))
    write(output, total)
    return result


def _counts(bag: torch.Tensor, bags: int, width: int) -> torch.Tensor:
    counts = torch.bincount(bag, minlength=bags).clamp(min=1).double()
    return counts.repeat_interleave(width)


@tables.exact("index sums", "_embedding_bag_dense_backward _embedding_bag_backward")
def _bags_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    given = tables.named_arguments(func, args, options)
    _refuse_sparse(given)
    result = func(*args, **options)
    gradient, indices, bag = given["grad"], given["indices"], given["offset2bag"]
    mode, width = given["mode"], given["grad"].shape[1]
    if bag.numel() == 0 and "offsets" in given:
        bag = _bag_of(indices, given["offsets"], gradient.shape[0])
    if mode not in (_SUM, _MEAN):
        chosen = given["maximum_indices"]
        places = torch.where(chosen < 0, -1, chosen * width + torch.arange(width))
        add_at(result, None, values(gradient), places)
        return result
    padding = given["padding_idx"]
    is_counted = indices != padding if padding >= 0 else torch.ones_like(indices, dtype=torch.bool)
    shares = values(gradient)
    if mode == _MEAN:
        shares = divided_each(shares, _counts(bag[is_counted], gradient.shape[0], width))
    rows = bag.reshape(-1, 1) * width + torch.arange(width)
    terms = shares.taken(rows.reshape(-1))
    scales = given["per_sample_weights"]
    if scales is not None:
        terms = terms.times(values(scales.reshape(-1, 1).expand(rows.shape)))
    if given["scale_grad_by_freq"]:
        frequency = torch.bincount(indices)[indices].double()
        terms = divided_each(terms, frequency.repeat_interleave(width))
    places = indices.reshape(-1, 1) * width + torch.arange(width)
    add_at(result, None, terms, torch.where(is_counted.reshape(-1, 1), places, -1))
    return result


@tables.exact("index sums", "_embedding_bag_per_sample_weights_backward")
def _scales_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The product of a bag's gradient with each row in it."""
    given = tables.named_arguments(func, args, options)
    result = func(*args, **options)
    gradient, weight, indices = given["grad"], given["weight"], given["indices"]
    if result.numel() == 0:
        return result
    bag = given["offset2bag"]
    if bag.numel() == 0:
        bag = _bag_of(indices, given["offsets"], gradient.shape[0])
    products = values(gradient[bag]).times(Values.of(weight.detach()[indices]))
    total = summed_last(products, weight.shape[1])
    padding = given["padding_idx"]
    counted = torch.where(indices == padding, -1, places_of(indices.shape))
    write(result, total.taken(counted if padding >= 0 else places_of(indices.shape)))
    return result
