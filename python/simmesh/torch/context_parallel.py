"""PyTorch's ``context_parallel`` on the CPU: it rings attention of GPUs only.

PyTorch's rings take any operator of attention. While ranks run, those of the CPU are among them.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.nn.functional
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from torch.distributed.tensor.experimental._context_parallel import _attention

from simmesh.torch.isolation.own_names import OwnNames
from simmesh.torch.isolation.part import Part
from simmesh.torch.isolation.patches import Patches
from simmesh.torch.isolation.user_attributes import ObjectAttribute

_forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default

# The dim of the sequence in queries, keys and values.
_SEQUENCE = 2


def install(patches: Patches) -> None:
    """Lets ``context_parallel`` take the CPU's attention and its backward."""
    handlers: dict[Any, Any] = _attention.custom_ops
    before = dict(handlers)
    handlers.update({_forward: _attend, _backward: _differentiate})

    def restore() -> None:
        handlers.clear()
        handlers.update(before)

    patches.at_end(restore)


def add_names(own: OwnNames) -> None:
    """Adds what ``context_parallel`` replaces for a process."""
    own.add(vars(torch.nn.functional), ["scaled_dot_product_attention"], lambda value: value)
    own.add(vars(_attention), ["_replaced_functions"], copy.copy)
    own.add(vars(_attention), ["_dispatch_mode"], lambda value: value)


def options() -> list[Part]:
    """The options of ``context_parallel``, which programs set in place."""
    return [ObjectAttribute(_attention._cp_options, name) for name in vars(_attention._cp_options)]


def _attend(op: Any, args: Any, kwargs: Any) -> Any:
    named = _named(op, args, kwargs)
    mesh, local = _local(named)
    output, sums = _attention._templated_ring_attention(
        mesh.get_group(), _SEQUENCE, _forward, **local
    )
    query, value = named["query"], named["value"]
    shape = (*query.shape[:-1], value.shape[-1])
    return _whole(mesh, output, shape), _whole(mesh, sums, tuple(query.shape[:-1]))


def _differentiate(op: Any, args: Any, kwargs: Any) -> Any:
    named = _named(op, args, kwargs)
    mesh, local = _local(named)
    gradients = _attention._templated_ring_attention_backward(
        mesh.get_group(), _SEQUENCE, _backward, grad_out_name="grad_out", **local
    )
    inputs = [named[name] for name in ("query", "key", "value")]
    return tuple(_whole(mesh, gradient, tuple(of.shape)) for gradient, of in zip(gradients, inputs))


def _named(op: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    arguments = op._schema.arguments
    given = dict(zip([each.name for each in arguments], args), **kwargs)
    return {
        each.name: given.get(each.name, each.default_value)
        for each in arguments
        if each.name in given or each.has_default_value()
    }


def _local(named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The mesh, and the arguments with the pieces of this rank. Raises for anything but one mesh
    dim that cuts the sequence.
    """
    tensors = {name: value for name, value in named.items() if isinstance(value, torch.Tensor)}
    for name, tensor in tensors.items():
        if not isinstance(tensor, DTensor) or tensor.placements != (Shard(_SEQUENCE),):
            got = tensor.placements if isinstance(tensor, DTensor) else "a tensor of the rank alone"
            raise NotImplementedError(
                f"[torch/context_parallel] {name}: expected placements ({Shard(_SEQUENCE)},), got "
                f"{got}"
            )
    if named.get("attn_mask") is not None:
        raise NotImplementedError(
            "[torch/context_parallel] attn_mask: expected none, got a tensor; PyTorch's rings have "
            "is_causal only"
        )
    mesh = named["query"].device_mesh
    local = {
        name: value._local_tensor if name in tensors else value for name, value in named.items()
    }
    return mesh, local


def _whole(mesh: Any, piece: torch.Tensor, shape: tuple[int, ...]) -> DTensor:
    stride = torch.empty(shape, device="meta").stride()
    meta = TensorMeta(torch.Size(shape), stride, piece.dtype)
    spec = DTensorSpec(mesh, (Shard(_SEQUENCE),), meta)
    return DTensor(piece, spec, requires_grad=False)  # type: ignore[no-any-return]
