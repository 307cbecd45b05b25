"""Triangular systems, solved by substitution: row after row, in float64."""

from __future__ import annotations

from typing import Any

import torch

from simmesh._core.exact import product
from simmesh.torch.exact import tables
from simmesh.torch.exact.doubles import narrow, wide
from simmesh.torch.exact.tables import Operator


@tables.exact("triangular systems", "linalg_solve_triangular")
def _solved(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    if result.numel() == 0:
        return result
    matrix, right = wide(args[0]), wide(args[1])
    upper, left = options["upper"], options.get("left", True)
    if not left:  # X A = B is A' X' = B'
        matrix, right, upper = matrix.mT, right.mT, not upper
    if upper:  # the last row comes first
        matrix, right = matrix.flip(-2, -1), right.flip(-2)
    found = substituted(matrix, right, bool(options.get("unitriangular", False)))
    found = found.flip(-2) if upper else found
    return narrow((found if left else found.mT).contiguous(), result)


def substituted(matrix: torch.Tensor, right: torch.Tensor, is_unit: bool) -> torch.Tensor:
    """The solution of a lower triangular system, for each of a batch."""
    batch = torch.broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    matrix = matrix.expand(*batch, *matrix.shape[-2:]).reshape(-1, *matrix.shape[-2:])
    right = right.expand(*batch, *right.shape[-2:]).reshape(-1, *right.shape[-2:])
    found = torch.empty_like(right, memory_format=torch.contiguous_format)
    for row in range(right.shape[-2]):
        value = right[:, row]
        if row:
            known = torch.empty(len(right), 1, right.shape[-1], dtype=torch.float64)
            product(matrix[:, row : row + 1, :row].contiguous(), found[:, :row].contiguous()
                    ).round_into(known)  # fmt: skip
            value = value - known[:, 0]
        found[:, row] = value if is_unit else value / matrix[:, row, row].unsqueeze(-1)
    return found.reshape(*batch, *right.shape[-2:])
