"""The factor of a pre-multiplied sum.

torch's operators get a reduction as an object that has its kind and not its factor, so the factor
is noted where a program sets the options of the collective that it calls next.
"""

from __future__ import annotations

from typing import Any

import torch.distributed as dist

from simmesh.torch import rank_state
from simmesh.torch.isolation.patches import Patches

_OPTIONS = (
    "AllreduceOptions",
    "AllreduceCoalescedOptions",
    "ReduceOptions",
    "ReduceScatterOptions",
)


def install(patches: Patches) -> None:
    """Notes, in ranks, the factor of each reduction that is set in a collective's options."""
    for name in _OPTIONS:
        options = getattr(dist, name, None) or getattr(dist.distributed_c10d, name)
        if "reduceOp" in vars(options):
            patches.replace(options, "reduceOp", _noting(vars(options)["reduceOp"]))


def _noting(original: Any) -> property:
    def set_reduction(options: Any, operator: Any) -> None:
        original.__set__(options, operator)
        state = rank_state.current()
        if state is not None and getattr(operator, "op", operator) == dist.ReduceOp.PREMUL_SUM:
            state.premultiplier = float(operator.factor)

    return property(lambda options: original.__get__(options, type(options)), set_reduction)
