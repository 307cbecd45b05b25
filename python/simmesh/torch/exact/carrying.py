"""Collectives that carry exact values: which records their operands and results have."""

from __future__ import annotations

import torch

from simmesh._core.exact import Record
from simmesh.torch import kernels
from simmesh.torch.exact import companions


def find_records(tensors: list[torch.Tensor], are_results: bool) -> list[Record | None]:
    """The record of each tensor's storage; none at all outside of the mode.

    Results get a record where there was none. What isn't floating keeps no values: as a result it
    ends those that stood behind its bytes.
    """
    if companions.scope.mode is None:
        return []
    return [
        companions.record_to_keep(tensor) if are_results else companions.record_of(tensor)
        for tensor in tensors
    ]


kernels.carry(find_records)
