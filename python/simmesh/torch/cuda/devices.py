"""CUDA's devices as ranks name them, and which tensors are on them.

A device of CUDA is a ``torch.device("cpu")`` that this module knows by its identity. So it has the
type of the memory in which its tensors are, and still isn't the host. A storage keeps where it is:
the index of a device, or ``HOST``. Storages that torch's C++ code makes by itself keep nothing.
"""

from __future__ import annotations

import os
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from simmesh.torch import rank_state

#: The location of tensors in the memory of the host.
HOST = -1

_PLACE, _PINNED = "_simmesh_place", "_simmesh_is_pinned"

#: The devices of the node that a script saw on the host, before it started its ranks.
seen_by_host: int | None = None

_devices: list[torch.device] = []
_indices: dict[int, int] = {}


def count() -> int:
    """The devices of this rank's node: one for each of its ranks, or those that the host saw."""
    if seen_by_host is not None:
        return seen_by_host
    default = rank_state.of_rank().shared.ranks
    return int(os.environ.get("LOCAL_WORLD_SIZE", default))


def current() -> int:
    """The index of the device that the rank has set; 0 at first."""
    return rank_state.of_rank().device_index


def set_current(index: int) -> None:
    """Sets the rank's device."""
    rank_state.of_rank().device_index = index


def device(index: int) -> torch.device:
    """The device of an index. Raises RuntimeError for one that the node doesn't have."""
    if not 0 <= index < count():
        raise RuntimeError(
            f"[torch/cuda] rank {rank_state.of_rank().rank}: CUDA error: invalid device ordinal: "
            f"expected 0 to {count() - 1}, since a node has as many devices as ranks, got {index}"
        )
    while len(_devices) <= index:
        _devices.append(torch.device("cpu"))
        _indices[id(_devices[-1])] = len(_devices) - 1
    return _devices[index]


def index_of(value: Any) -> int | None:
    """The index of the device that a value names: a text, a number, a device; None for others."""
    if type(value) is torch.device:
        if value.type == "cuda":
            return current() if value.index is None else value.index
        return _indices.get(id(value))
    if type(value) is str:
        return _index_in(value)
    return value if type(value) is int else None


def _index_in(name: str) -> int | None:
    kind, _, number = name.partition(":")
    if kind != "cuda":
        return None
    if not number:
        return current()
    return int(number) if number.isdigit() else None


def index_or_current(value: Any) -> int:
    """The index of a device as functions of ``torch.cuda`` take it; None is the current one.
    Raises ValueError for another device and RuntimeError for one that isn't there.
    """
    index = current() if value is None else index_of(value)
    if index is None and type(value) is torch.device and value.type == "cpu":
        index = current()  # ``torch.device("cuda")`` in other words, as ``mesh.device_type``
    if index is None:
        raise ValueError(f"[torch/cuda] Expected a cuda device, but got: {value}")
    device(index)
    return index


def place(tensor: torch.Tensor) -> int | None:
    """Where a tensor is; None where nobody knows."""
    return getattr(storage(tensor), _PLACE, None)


def put(tensor: torch.Tensor, index: int | None) -> None:
    """Notes where a tensor is, unless its storage has it."""
    own = storage(tensor)
    if own is not None and index is not None and not hasattr(own, _PLACE):
        setattr(own, _PLACE, index)


def is_pinned(tensor: torch.Tensor) -> bool:
    """True if a tensor was pinned."""
    return hasattr(storage(tensor), _PINNED)


def pin(tensor: torch.Tensor) -> torch.Tensor:
    """Notes that a tensor is pinned, and returns it."""
    own = storage(tensor)
    if own is not None:
        setattr(own, _PINNED, True)
    return tensor


def storage(tensor: torch.Tensor) -> Any:
    """The storage of a tensor, or of a DTensor's piece; None for tensors that have none."""
    if isinstance(tensor, DTensor):
        tensor = tensor._local_tensor
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):  # sparse tensors and wrappers have none
        return None
