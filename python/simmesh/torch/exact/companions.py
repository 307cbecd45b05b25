"""The exact values behind the elements of tensors, kept for each storage.

A value that isn't known is the element itself. Views share a storage, so they share what stands
behind it. A record checks the bits of elements before it gives their values: whatever another
writer changes has nothing behind it any more.
"""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from simmesh._core.exact import Record, Values

#: Entries that are worth a look for storages that are gone.
_FEW = 64


class _Kept:
    """The record of one storage. ``is_rounded`` is True for parameters, which carry nothing."""

    __slots__ = ("bytes", "is_rounded", "record", "reference")

    def __init__(self, storage: torch.UntypedStorage) -> None:
        self.reference = StorageWeakRef(storage)
        self.bytes = storage.nbytes()
        self.record: Record | None = None
        self.is_rounded = False

    def record_for(self, bytes: int) -> Record | None:
        """The record, which is forgotten once the storage has another size."""
        if bytes != self.bytes:
            self.bytes = bytes
            self.record = None
        return self.record


# By the address of torch's storage object, which isn't used again while a weak reference exists.
_kept: dict[int, _Kept] = {}
_next_look = _FEW


class _Scope(threading.local):
    """The state of a thread: the mode that it is in, the operations that it has not waited for
    unless their buffers aren't checked, and the number of optimizer steps.
    """

    mode: Any = None
    under_way: Any = None
    steps = 0


scope = _Scope()


def values(tensor: torch.Tensor) -> Values:
    """The values that arithmetic reads: exact ones, but the elements themselves in the step of an
    optimizer, and the rounded roots of norms.
    """
    if scope.steps:
        return Values.of(tensor)
    found = carried(tensor)
    return Values.of(tensor) if found.is_root else found


def carried(tensor: torch.Tensor) -> Values:
    """The values that copies and collectives move: exact ones everywhere, roots as roots."""
    record = record_of(tensor)
    found = None if record is None else record.read(tensor)
    return Values.of(tensor) if found is None else found


def write(tensor: torch.Tensor, result: Values) -> None:
    """Rounds the result of arithmetic into a tensor and keeps it. In an optimizer's step copies and
    collectives see it, as for products of shards, and arithmetic reads the rounded elements.
    """
    keep(tensor, result)


def keep(tensor: torch.Tensor, moved: Values) -> None:
    """Rounds moved values into a tensor and keeps them, unless it belongs to a parameter."""
    if tensor.numel() == 0:
        return
    record = record_to_keep(tensor)
    if record is None:
        moved.round_into(tensor)
    else:
        record.write(tensor, moved)


def record_to_keep(tensor: torch.Tensor) -> Record | None:
    """The record of a floating tensor's storage, which is made where there is none; None for a
    parameter's storage. A tensor of another dtype gets no record of its own.
    """
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        return record_of(tensor)
    storage = tensor.untyped_storage()
    kept = _entry(storage)
    if kept.is_rounded:
        return None
    record = kept.record_for(storage.nbytes())
    if record is None:
        record = kept.record = Record(kept.bytes)
    return record


def drop(tensor: torch.Tensor) -> None:
    """Forgets what stands behind the elements of a tensor."""
    record = record_of(tensor)
    if record is not None:
        record.drop(tensor)


def has(tensor: torch.Tensor) -> bool:
    """True if something may stand behind elements of the tensor's storage."""
    return record_of(tensor) is not None


def record_of(tensor: torch.Tensor) -> Record | None:
    """The record of a tensor's storage; None where nothing was kept for it, or for no elements."""
    storage = tensor.untyped_storage()
    kept = _kept.get(storage._cdata)
    if kept is None or kept.record is None or tensor.numel() == 0:
        return None
    return kept.record_for(storage.nbytes())


def round_parameter(tensor: torch.Tensor) -> None:
    """Lets a parameter's storage carry nothing, from now on."""
    kept = _entry(tensor.untyped_storage())
    kept.is_rounded = True
    kept.record = None


def is_parameter(tensor: torch.Tensor) -> bool:
    """True for an element of a parameter's storage, or the parameter itself."""
    kept = _kept.get(tensor.untyped_storage()._cdata)
    return (kept is not None and kept.is_rounded) or isinstance(tensor, torch.nn.Parameter)


def nbytes() -> int:
    """The bytes that all records take."""
    _forget_dead()
    return sum(kept.record.nbytes for kept in _kept.values() if kept.record is not None)


def _entry(storage: torch.UntypedStorage) -> _Kept:
    global _next_look
    address = storage._cdata
    kept = _kept.get(address)
    if kept is not None:
        return kept
    if len(_kept) >= _next_look:
        _forget_dead()
        _next_look = max(_FEW, len(_kept) * 3 // 2)
    kept = _kept[address] = _Kept(storage)
    return kept


def _forget_dead() -> None:
    for address in [at for at, kept in _kept.items() if kept.reference.expired()]:
        del _kept[address]


__all__ = [
    "Record", "Values", "carried", "drop", "has", "is_parameter", "keep", "nbytes", "record_of",
    "round_parameter", "scope", "values", "write",
]  # fmt: skip
