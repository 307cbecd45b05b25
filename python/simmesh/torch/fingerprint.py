"""Words that make values of different ranks distinct, for the data hash of a run."""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import hashlib
import pathlib
import uuid
from collections import deque
from dataclasses import fields, is_dataclass
from typing import Any

import numpy
import torch

# Values whose text says all of them.
_TOLD_BY_TEXT = (
    bool, int, float, complex, str, bytes, bytearray, range, slice, decimal.Decimal,
    fractions.Fraction, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo,
    pathlib.PurePath, uuid.UUID, torch.dtype, torch.device, torch.layout, torch.memory_format,
    numpy.dtype,
)  # fmt: skip


def fingerprint(value: Any) -> int:
    """64 bits of a value's bits: tensors (also sharded ones), arrays, numbers, text, containers of
    them, and objects that can be pickled, by their state.

    Raises TypeError, which names the type, for a value that can't be compared.
    """
    digest = hashlib.blake2b(digest_size=8)
    _fold(digest, value, ())
    return int.from_bytes(digest.digest(), "little")


def _fold(digest: Any, value: Any, outer: tuple[int, ...]) -> None:
    """Folds a value; ``outer`` has the ids of the values that it is part of."""
    digest.update(type(value).__qualname__.encode() + b"\0")
    if value is None or (isinstance(value, _TOLD_BY_TEXT) and not isinstance(value, enum.Enum)):
        digest.update(repr(value).encode(errors="backslashreplace") + b"\0")
        return
    if id(value) in outer:
        digest.update(b"the value around it\0")
        return
    outer += (id(value),)
    if isinstance(value, torch.Tensor):
        _fold_tensor(digest, value)
    elif isinstance(value, (numpy.ndarray, numpy.generic)):
        _fold_array(digest, numpy.asarray(value), outer)
    elif isinstance(value, enum.Enum):
        digest.update(value.name.encode() + b"\0")
    elif isinstance(value, type):
        digest.update(f"{value.__module__}.{value.__qualname__}".encode() + b"\0")
    elif isinstance(value, dict):
        for key, item in value.items():
            _fold(digest, key, outer)
            _fold(digest, item, outer)
    elif isinstance(value, (list, tuple, deque)):
        _fold_items(digest, value, outer)
    elif isinstance(value, (set, frozenset)):
        _fold_items(digest, sorted(fingerprint(item) for item in value), outer)
    elif is_dataclass(value):
        _fold_items(digest, [getattr(value, field.name) for field in fields(value)], outer)
    else:
        _fold_state(digest, value, outer)


def _fold_items(digest: Any, items: Any, outer: tuple[int, ...]) -> None:
    digest.update(f"{len(items)} items".encode() + b"\0")
    for item in items:
        _fold(digest, item, outer)


def _fold_tensor(digest: Any, tensor: torch.Tensor) -> None:
    local = getattr(tensor, "_local_tensor", None)
    if local is not None:
        digest.update(repr((tuple(tensor.shape), tensor.placements)).encode())
        tensor = local
    tensor = tensor.detach()
    digest.update(f"{tensor.dtype} {tuple(tensor.shape)} {tensor.layout}".encode())
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    if tensor.numel() and not tensor.untyped_storage().nbytes():
        raise RuntimeError(
            "[torch/fingerprint] expected a result that still has its memory, got a tensor whose "
            "memory was given back, such as a parameter that was whole for a while: return a clone"
        )
    tensor = tensor.cpu().resolve_conj().resolve_neg().contiguous()
    if tensor.numel():
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())


def _fold_array(digest: Any, array: Any, outer: tuple[int, ...]) -> None:
    digest.update(f"{array.dtype} {array.shape}".encode() + b"\0")
    if array.dtype.hasobject:
        _fold_items(digest, array.reshape(-1).tolist(), outer)
    else:
        digest.update(array.tobytes())


def _fold_state(digest: Any, value: Any, outer: tuple[int, ...]) -> None:
    """Folds an object by what a pickle would hold. Values that have no state of their own, such as
    functions and locks, have no pickle either, or one by name.
    """
    try:
        reduced = value.__reduce_ex__(4)
    except Exception as error:
        raise TypeError(_refusal(value)) from error
    if isinstance(reduced, str):
        raise TypeError(_refusal(value))
    maker, arguments, *rest = reduced
    digest.update(f"{maker.__module__}.{maker.__qualname__}".encode() + b"\0")
    _fold_items(digest, arguments, outer)
    for part in rest[:1]:
        _fold(digest, part, outer)
    for items in rest[1:3]:
        _fold_items(digest, [] if items is None else list(items), outer)


def _refusal(value: Any) -> str:
    kind = type(value)
    return (
        "[python/fingerprint] expected a result whose value can be compared between schedules, got "
        f"a {kind.__module__}.{kind.__qualname__}; return tensors, numbers, text, containers or "
        "objects that can be pickled"
    )
