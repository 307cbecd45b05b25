"""Views of tensors in dtypes that simmesh's core can move and add."""

from __future__ import annotations

import torch

_CORE = {
    torch.float64, torch.float32, torch.float16, torch.bfloat16,
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
}  # fmt: skip

# Same size, so that the view has the same strides.
_SAME_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def moved(tensor: torch.Tensor) -> torch.Tensor:
    """A view of the tensor's bits in a dtype of the core; the tensor itself if it has one."""
    if tensor.dtype in _CORE:
        return tensor
    tensor = tensor.detach()
    if tensor.is_complex():
        return torch.view_as_real(tensor)
    return tensor.view(_SAME_BITS[tensor.element_size()])


def added(tensor: torch.Tensor) -> torch.Tensor:
    """A view whose elements can be summed one by one; raises TypeError for a dtype that has no sums."""
    if tensor.dtype in _CORE:
        return tensor
    if tensor.is_complex():
        return torch.view_as_real(tensor.detach())
    raise TypeError(
        f"[torch/kernels] expected a dtype that can be reduced, one of "
        f"{', '.join(sorted(str(dtype) for dtype in _CORE))} or a complex one, got {tensor.dtype}"
    )
