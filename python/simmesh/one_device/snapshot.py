"""A tensor at one moment on one rank: its elements, what stands behind them, and the placements
that a DTensor declares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed._functional_collectives import AsyncCollectiveTensor
from torch.distributed.tensor import DTensor, Shard
from torch.utils._python_dispatch import _disable_current_modes

from simmesh import _core
from simmesh.one_device.flat_parameters import FlatTensor
from simmesh.one_device.spmd_declarations import declared_by_spmd_types
from simmesh.torch.exact import companions


@dataclass(frozen=True)
class Exact:
    """A tensor's elements, and the exact values that they were rounded from.

    ``values`` is None where each element is its own exact value.
    """

    elements: torch.Tensor
    values: Any = None

    def all_values(self) -> Any:
        """The exact values, in row-major order."""
        return _core.exact.Values.of(self.elements) if self.values is None else self.values


@dataclass(frozen=True)
class Declared:
    """The placements of a DTensor, the ranks of its mesh (nested lists) and its whole shape.

    ``is_flat`` says that a tensor of this shape was made flat before it was cut.
    """

    placements: tuple[Any, ...]
    ranks: torch.Tensor
    shape: torch.Size
    is_flat: bool = False


@dataclass(frozen=True)
class Snapshot:
    """A tensor on one rank. ``is_number`` says that it was a number of Python."""

    exact: Exact
    declared: Declared | None = None
    is_number: bool = False

    @property
    def nbytes(self) -> int:
        """The bytes of the elements."""
        return self.exact.elements.numel() * self.exact.elements.element_size()


def snapshot_of(value: Any) -> Snapshot | None:
    """A copy of a tensor or number as it is now; None for a tensor without elements of its own,
    such as one on the meta device, and for other values.
    """
    if isinstance(value, (bool, int, float, complex)):
        return _of_number(value)
    if isinstance(value, FlatTensor):
        with torch.no_grad(), _disable_current_modes():
            flat = Declared((Shard(0),), torch.tensor(value.ranks), value.shape, is_flat=True)
            return Snapshot(_exact(value.piece), flat)
    if not isinstance(value, torch.Tensor):
        return None
    declared = None
    if isinstance(value, DTensor):
        mesh = value.device_mesh
        declared = Declared(tuple(value.placements), mesh.mesh.clone(), value.shape)
        value = value._local_tensor
    elif (found := declared_by_spmd_types(value)) is not None:
        declared = Declared(tuple(found[0]), found[1], value.shape)
    if isinstance(value, AsyncCollectiveTensor):
        value = value.trigger_wait()
    is_plain = type(value) in (torch.Tensor, torch.nn.Parameter)
    if not is_plain or value.device.type != "cpu" or value.layout is not torch.strided:
        return None
    with torch.no_grad(), _disable_current_modes():
        return Snapshot(_exact(value), declared)


def _exact(tensor: torch.Tensor) -> Exact:
    if tensor.is_quantized:
        return Exact(tensor.int_repr())
    if tensor.is_floating_point() and tensor.element_size() == 1:
        return Exact(_of_eight_bits(tensor.detach()))
    values = companions.carried(tensor) if tensor.is_floating_point() and tensor.numel() else None
    copy = tensor.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    if copy.is_complex():
        copy = torch.view_as_real(copy)
    return Exact(copy, values)


def _of_eight_bits(tensor: torch.Tensor) -> torch.Tensor:
    """Numbers of eight bits in float32, which has them all and which arithmetic has kernels for.
    Those of four bits, two in a byte, stay bytes.
    """
    try:
        return tensor.to(torch.float32, memory_format=torch.contiguous_format, copy=True)
    except (RuntimeError, NotImplementedError):
        return tensor.contiguous().view(torch.uint8).clone()


def _of_number(value: complex) -> Snapshot | None:
    if isinstance(value, int) and abs(value) >= 2**63:
        return None
    with torch.no_grad(), _disable_current_modes():
        if isinstance(value, complex):
            elements = torch.tensor([value.real, value.imag], dtype=torch.float64)
        elif isinstance(value, float):
            elements = torch.tensor(value, dtype=torch.float64)
        else:
            elements = torch.tensor(value)
    return Snapshot(Exact(elements), None, is_number=True)


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """True if two tensors have one dtype and shape, and no elements that differ."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return not bool(differing(one, other).any())


def differing(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """The elements in which two tensors of one dtype and shape differ, as bools.

    Numbers are equal if their bits are. The signs of zeros and the bits of NaNs don't count.
    """
    different = one != other
    return different & ~(one.isnan() & other.isnan()) if one.is_floating_point() else different


def ulp_of(dtype: torch.dtype) -> float:
    """The distance of 1 from the next number of a floating dtype."""
    return torch.finfo(dtype).eps if dtype.is_floating_point else 0.0


def is_power_of_two(number: float) -> bool:
    """True for 1, 2, 0.5 and so on."""
    return number > 0 and math.frexp(number)[0] == 0.5
