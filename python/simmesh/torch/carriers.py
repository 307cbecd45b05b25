"""Views of tensors in dtypes that simmesh's core can move and add."""

from __future__ import annotations

import torch

_CORE = {
    torch.float64, torch.float32, torch.float16, torch.bfloat16,
    torch.int64, torch.int32, torch.uint8, torch.bool,
}  # fmt: skip

# Same size, so that the view has the same strides. Bits that are moved are never computed with.
_SAME_BITS = {1: torch.uint8, 2: torch.float16, 4: torch.int32, 8: torch.int64}

# The reductions whose bits are the same for signed and unsigned numbers.
_UNSIGNED = ("sum", "product", "band", "bor", "bxor")


def moved(tensor: torch.Tensor) -> torch.Tensor:
    """A view of the tensor's bits in a dtype of the core; the tensor itself if it has one."""
    if tensor.dtype in _CORE:
        return tensor
    tensor = tensor.detach()
    if tensor.is_complex():
        return torch.view_as_real(tensor)
    return tensor.view(_SAME_BITS[tensor.element_size()])


def added(tensor: torch.Tensor, reduce: str) -> torch.Tensor:
    """A view whose elements can be reduced one by one; raises TypeError for a dtype for which that
    has no meaning.
    """
    if tensor.dtype in _CORE:
        return tensor
    if tensor.is_complex() and reduce in ("sum", "avg"):
        return torch.view_as_real(tensor.detach())
    if tensor.dtype is torch.int8 and reduce in _UNSIGNED:
        return tensor.detach().view(torch.uint8)
    raise TypeError(
        f"[torch/kernels] {reduce}: expected a dtype that can be reduced, one of "
        f"{', '.join(sorted(str(dtype) for dtype in _CORE))} or a complex one, got {tensor.dtype}"
    )
