"""The tensors with gaps that gloo and NCCL refuse, or get wrong, though simmesh could take them.

gloo reads and writes the memory from the first element on as if it were dense, in the operators of
``_GLOO_DENSE``, and refuses tensors that aren't contiguous in those of ``_GLOO_CONTIGUOUS``. NCCL
refuses whatever isn't dense.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

from simmesh import _core

if TYPE_CHECKING:
    from simmesh.torch.rank_state import Group

_GLOO_DENSE = {"all_reduce", "broadcast", "reduce", "scatter"}
_GLOO_CONTIGUOUS = {"all_to_all", "send", "recv"}


def check(group: Group, operation: str, tensors: Iterable[Any]) -> None:
    """Raises ValueError for a tensor that the group's backend would not take, or get wrong."""
    if group.allows_strided:
        return
    for tensor in tensors:
        if tensor.is_contiguous():
            continue
        if group.backend == "nccl":
            _check_dense(group, operation, tensor, "nccl refuses it")
        elif group.backend == "gloo" and operation in _GLOO_DENSE:
            _check_dense(group, operation, tensor, "gloo takes the memory between its elements")
        elif group.backend == "gloo" and operation in _GLOO_CONTIGUOUS:
            _refuse(group, operation, tensor, "a contiguous tensor", "gloo refuses it")


def is_dense(tensor: torch.Tensor) -> bool:
    """True if the elements fill one piece of memory without gaps, in any order of dims."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


def _check_dense(group: Group, operation: str, tensor: torch.Tensor, consequence: str) -> None:
    if not is_dense(tensor):
        _refuse(group, operation, tensor, "a dense tensor", consequence)


def _refuse(
    group: Group, operation: str, tensor: torch.Tensor, expected: str, consequence: str
) -> None:
    raise ValueError(
        f"[torch/strides] rank {group.members[group.rank]}: {operation} of group {group.name} "
        f"{group.members} at {_core.call_site()}: expected {expected}, got strides "
        f"{tuple(tensor.stride())} of shape {tuple(tensor.shape)}: {consequence}; "
        "allow_strided=True lets it pass"
    )
