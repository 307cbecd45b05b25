"""All-reduces of several tensors of each rank, which gloo reduces into one result."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Callable

import torch

# An average divides by the number of ranks, whatever the number of their tensors.
_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "sum": torch.add, "avg": torch.add, "premul_sum": torch.add, "product": torch.mul,
    "min": torch.minimum, "max": torch.maximum,
    "band": torch.bitwise_and, "bor": torch.bitwise_or, "bxor": torch.bitwise_xor,
}  # fmt: skip


def combine(tensors: Sequence[torch.Tensor], reduce: str) -> None:
    """Gives each of a rank's tensors what they are together, so that reducing each over the ranks
    gives what gloo gives. Raises ValueError where the tensors differ in kind.
    """
    first = tensors[0]
    for index, tensor in enumerate(tensors):
        for what in ("layout", "dtype", "shape"):
            expected, came = getattr(first, what), getattr(tensor, what)
            if expected != came:
                raise ValueError(
                    f"[torch/several_tensors] all_reduce: expected tensors of one {what}, "
                    f"{_text(expected)} as the first, got {_text(came)} at place {index}"
                )
    with torch.no_grad():
        total = functools.reduce(_COMBINE[reduce], [tensor.detach() for tensor in tensors])
        for tensor in tensors:
            tensor.copy_(total)


def _text(value: Any) -> Any:
    return list(value) if isinstance(value, torch.Size) else value
