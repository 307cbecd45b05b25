"""Calls of operators from inside of a handler, where the mode of the thread is off."""

from __future__ import annotations

from typing import Any, Callable

import torch

from simmesh.torch.exact.companions import scope


def in_mode(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Calls a function whose operators go through the mode of this thread."""
    with scope.mode:
        return function(*arguments, **options)


def is_backward() -> bool:
    """True in a backward pass, but not where a checkpoint computes a forward pass again."""
    return torch._C._current_graph_task_id() != -1 and not torch.is_grad_enabled()


def is_floating(tensor: torch.Tensor) -> bool:
    """True for real and complex floating elements."""
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def is_leaf(tensor: torch.Tensor) -> bool:
    """True for a leaf that requires gradients. A view of one isn't asked for the node that made
    it: PyTorch raises for one that was made without gradients and written since.
    """
    base = tensor._base
    if not tensor.requires_grad or (base is not None and base.requires_grad):
        return False
    return tensor.is_leaf


def is_wide(tensor: torch.Tensor) -> bool:
    """True for float32 and float64: torch's kernels round those once in each operation."""
    return tensor.dtype is torch.float32 or tensor.dtype is torch.float64
