"""Types of gradients: the duals of those of the tensors."""

from __future__ import annotations

import torch

from simmesh.typed.stored import cuts_on, dual_types, keep, types_on

_HAS_HOOK = "_simmesh_types_gradient"


def type_gradient_of(tensor: torch.Tensor) -> None:
    """Lets ``tensor.grad`` have the dual types once a backward pass has made it."""
    if not (isinstance(tensor, torch.Tensor) and tensor.requires_grad and tensor.is_leaf):
        return
    if getattr(tensor, _HAS_HOOK, False):
        return
    setattr(tensor, _HAS_HOOK, True)
    tensor.register_post_accumulate_grad_hook(_type_gradient)


def _type_gradient(tensor: torch.Tensor) -> None:
    types = types_on(tensor)
    if types is not None and tensor.grad is not None:
        keep(tensor.grad, dual_types(types), cuts_on(tensor))
