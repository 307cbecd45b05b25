"""The functions of torch that Python calls by themselves, by the operator that they call.

``torch.ops.aten.relu`` looks up what it is called with in a schema, and takes half a microsecond
longer than ``torch.relu``, which has a parser of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from simmesh.torch.exact import tables
from simmesh.torch.exact.tables import Operator

#: Functions that give the same result for the operator's arguments by position, and for its
#: options by name. They return one tensor, or write their first operand.
NAMES = tables.words(
    "view t transpose.int detach permute unsqueeze squeeze squeeze.dim expand select.int "
    "as_strided empty_like zeros_like ones_like relu relu_ eq.Tensor eq.Scalar "
    "ne.Tensor ne.Scalar lt.Tensor lt.Scalar le.Tensor le.Scalar gt.Tensor gt.Scalar ge.Tensor "
    "ge.Scalar where.self zero_ fill_.Scalar isnan logical_not add.Tensor sub.Tensor mul.Tensor "
    "div.Tensor neg add_.Tensor sub_.Tensor mul_.Tensor div_.Tensor sum sum.dim_IntList mean "
    "mean.dim clone copy_"
)


def direct_of(operator: Operator) -> Callable[..., Any] | None:
    """The function for an operator of torch's own; None where there is none."""
    if not operator.name().startswith("aten::") or tables.name_of(operator) not in NAMES:
        return None
    packet = tables.packet_of(operator)
    found: Callable[..., Any] | None = getattr(torch._C._VariableFunctions, packet, None)
    return found or getattr(torch._C.TensorBase, packet, None)
