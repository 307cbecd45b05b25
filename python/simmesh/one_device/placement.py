"""Finds how a tensor really lies on the ranks: from its bits, without any declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simmesh.one_device.layout import Layout

if TYPE_CHECKING:
    import torch
    from torch.distributed.device_mesh import DeviceMesh


def placement_of(
    tensor: torch.Tensor, whole: torch.Tensor, mesh: DeviceMesh | None = None
) -> str | None:
    """The placement of a plain tensor over the ranks of a mesh, found from the bits.

    All ranks of the mesh call it, each with its own tensor and with the whole one.

    Args:
        tensor: what this rank holds.
        whole: what the ranks' tensors should stand for; the same on all ranks.
        mesh: the mesh; without one, all ranks are one dim.

    Returns the placement on each mesh dim, such as "S(0), R": R for equal tensors, S(d) for pieces
    of dim d as torch.chunk cuts them or of other sizes, P for the terms of a sum and M for those of
    a mean, added up exactly and rounded once. Where several fit, as for zeros, it is the one with
    the fewest terms. None if no placement fits.
    """
    import torch
    import torch.distributed as dist

    from simmesh.one_device.search import Allowed, find
    from simmesh.one_device.snapshot import Exact

    if not isinstance(tensor, torch.Tensor) or not isinstance(whole, torch.Tensor):
        raise TypeError(
            "[one_device] placement_of: expected a tensor and the whole tensor, got "
            f"{type(tensor).__name__} and {type(whole).__name__}"
        )
    if tensor.dtype is not whole.dtype:
        raise ValueError(
            f"[one_device] placement_of: expected tensors of one dtype, got {tensor.dtype} and "
            f"{whole.dtype}"
        )
    layout, members = _layout_of(mesh)
    held: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(held, tensor.detach().cpu().contiguous())
    ranks = [Exact(held[rank]) for rank in members]
    found = find(Exact(whole.detach().cpu().contiguous()), ranks, layout, Allowed())
    return None if found is None else found.text


def _layout_of(mesh: DeviceMesh | None) -> tuple[Layout, list[int]]:
    """The mesh dims, and the ranks of the mesh in its order."""
    import torch.distributed as dist

    if mesh is None:
        count = dist.get_world_size()
        return Layout(("world",), (count,)), list(range(count))
    names = mesh.mesh_dim_names or tuple(f"dim {at}" for at in range(mesh.ndim))
    layout = Layout(tuple(names), tuple(mesh.shape))
    return layout, [int(rank) for rank in mesh.mesh.flatten()]
