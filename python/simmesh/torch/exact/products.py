"""Products of matrices: rounded elements are multiplied, and the sums are kept unrounded."""

from __future__ import annotations

from typing import Any

import torch

from simmesh._core.exact import Values, product
from simmesh.torch.exact import tables
from simmesh.torch.exact.companions import keep_product, unrounded
from simmesh.torch.exact.tables import Operator


def _of_matrices(packet: str, one: torch.Tensor, other: torch.Tensor) -> Values:
    """The product in mm, bmm, mv and dot, and in the operators that add it to a tensor."""
    if packet.endswith(("mv", "dot")):
        other = other.unsqueeze(1)
    if packet.endswith("dot"):
        one = one.unsqueeze(0)
    return product(one, other)


@tables.exact("products", "mm bmm mv dot vdot")
def _product(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    if result.numel():
        keep_product(result, _of_matrices(tables.packet_of(func), args[0], args[1]))
    return result


@tables.exact("products", "addmm baddbmm addmv addbmm addr")
def _added_product(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """beta * input + alpha * product, each rounded once."""
    beta, alpha = options.get("beta", 1), options.get("alpha", 1)
    result = func(*args, **options)
    if result.numel() == 0:
        return result
    packet = tables.packet_of(func)
    if packet == "addr":
        found = Values.of(args[1].unsqueeze(1).expand(result.shape)).times(
            Values.of(args[2].unsqueeze(0).expand(result.shape))
        )
    elif packet == "addbmm":
        each = product(args[1], args[2])
        found = each.summed(1, args[1].shape[0], result.numel())
    else:
        found = _of_matrices(packet, args[1], args[2])
    total = found.scaled(float(alpha))
    if beta != 0:
        total = total.plus(unrounded(args[0].expand(result.shape)), float(beta))
    keep_product(result, total)
    return result


@tables.exact("products", "_grouped_mm")
def _grouped(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """One product a group. The groups are batches, or rows of the first operand, columns of the
    second, or parts of the dim that is summed over.
    """
    result = func(*args, **options)
    one, other = args[0], args[1]
    offsets: Any = options.get("offs", args[2] if len(args) > 2 else None)
    if one.dim() == 3 and other.dim() == 3:
        keep_product(result, product(one, other))
        return result
    begin = 0
    for group, end in enumerate(offsets.tolist()):
        if one.dim() == 2 and other.dim() == 3:
            parts = one[begin:end], other[group], result[begin:end]
        elif one.dim() == 3:
            parts = one[group], other[:, begin:end], result[:, begin:end]
        else:
            parts = one[:, begin:end], other[begin:end], result[group]
        left, right, into = parts
        if into.numel():
            keep_product(into, product(left, right))
        begin = end
    return result
