"""The dtypes in which a conversion computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Dtypes:
    """The dtypes of a call: of its computation, of its result, and the options of its backward."""

    op: torch.dtype | None = None
    out: torch.dtype | None = None
    backward: Mapping[str, Any] | None = None

    def options(self) -> dict[str, Any]:
        """Those of the backward call."""
        return dict(self.backward or {})


_OPTIONS = frozenset({"op_dtype", "out_dtype", "backward_options"})


def chosen(
    op: str,
    x: torch.Tensor,
    dtypes: Dtypes,
    sums_in_backward: bool,
    is_in_place: bool,
) -> Dtypes:
    """The dtypes with defaults filled in: ``op_dtype`` alone is the result's too, ``out_dtype``
    alone that of the computation where it is the smaller one.

    Raises ValueError for a call below 32 bits whose backward sums in a dtype that isn't named, and
    for options that are unknown or don't fit a call in place.
    """
    if is_in_place and (dtypes.op is not None or dtypes.out is not None):
        raise ValueError(f"[typed] {op}: inplace=True does not support op_dtype or out_dtype")
    given = dtypes.options()
    unknown = sorted(set(given) - _OPTIONS)
    if unknown:
        raise ValueError(
            f"[typed] {op}: backward_options: expected {', '.join(sorted(_OPTIONS))}, got "
            f"{', '.join(unknown)}"
        )
    needs = sums_in_backward and x.requires_grad and torch.is_grad_enabled()
    if needs and "op_dtype" not in given:
        named = [each for each in (dtypes.op, dtypes.out, x.dtype) if each is not None]
        if any(torch.finfo(each).bits < 32 for each in named if each.is_floating_point):
            raise ValueError(
                f"[typed] {op}: the gradient is summed below 32 bits: expected "
                'backward_options={"op_dtype": ...}, got none'
            )
    compute = dtypes.op
    if compute is None and dtypes.out is not None and op not in ("all_reduce", "reduce_scatter"):
        compute = min(x.dtype, dtypes.out, key=lambda each: torch.finfo(each).bits)
    result = dtypes.out if dtypes.out is not None else dtypes.op
    return Dtypes(compute, result, {"out_dtype": x.dtype, **given})


def cast(x: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    """A tensor in a dtype; itself without one."""
    return x if dtype is None or x.dtype == dtype else x.to(dtype)
