"""Tensors by formula, and the hash of a tensor's bits, as recorded cases have them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import torch

_OFFSET, _PRIME, _ALL = 0xCBF29CE484222325, 0x100000001B3, 2**64 - 1

DTYPES: dict[str, torch.dtype] = {
    name: getattr(torch, name)
    for name in (
        "float64",
        "float32",
        "float16",
        "bfloat16",
        "int64",
        "int32",
        "uint8",
        "bool",
        "complex64",
        "complex128",
    )
}


def name_of(dtype: torch.dtype) -> str:
    """The name that cases use for a dtype: ``float32``."""
    return str(dtype).removeprefix("torch.")


def values(shape: Sequence[int], data: Mapping[str, Any], dtype: str | None = None) -> torch.Tensor:
    """Returns the tensor of ``shape`` whose elements have the rule and seed of the record
    ``data``.

    ``data`` has ``rule`` and ``seed``, and ``scale``, ``offset`` or ``below`` where it needs them;
    its dtype is ``data["dtype"]`` unless ``dtype`` is given.
    """
    name = dtype or data["dtype"]
    count = math.prod(shape)
    numbers = _numbers(count, data, DTYPES[name].is_floating_point)
    return _rounded(numbers, name).reshape(tuple(shape))


def partial_seed(seed: int, coordinates: Sequence[int], sizes: Sequence[int]) -> int:
    """Returns the seed of the logical tensor held at these coordinates of the Partial mesh dims."""
    if not sizes:
        return seed
    position = 0
    for coordinate, size in zip(coordinates, sizes):
        position = position * size + coordinate
    return (seed + 1 + position) & _ALL


def bits(tensor: torch.Tensor) -> str:
    """FNV-1a over the tensor's bytes in row-major order, as 16 hex digits."""
    word = _OFFSET
    for byte in _bytes(tensor):
        word = ((word ^ byte) * _PRIME) & _ALL
    return f"{word:016x}"


def _bytes(tensor: torch.Tensor) -> bytes:
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if tensor.numel() == 0:
        return b""
    # A storage that numpy has seen can't be resized any more, so numpy gets a copy.
    return bytes(tensor.reshape(-1).view(torch.uint8).clone().numpy().tobytes())


def _mix(x: numpy.ndarray) -> numpy.ndarray:
    x = x + numpy.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return x ^ (x >> numpy.uint64(31))


def _numbers(count: int, data: Mapping[str, Any], floating: bool) -> numpy.ndarray:
    seed = numpy.array([data["seed"]], dtype=numpy.uint64)
    words = _mix(_mix(seed) + numpy.arange(count, dtype=numpy.uint64))
    rule = data["rule"]
    if rule == "bool":
        return (words >> numpy.uint64(63)).astype(numpy.int64)
    if rule == "index":
        return (words % numpy.uint64(data["below"])).astype(numpy.int64)
    if rule == "small":
        whole, unit = (words >> numpy.uint64(61)).astype(numpy.int64) - 4, 1.0
    elif rule == "positive":
        whole, unit = (words >> numpy.uint64(41)).astype(numpy.int64) + 1, 2.0**-20
    elif rule in ("wide", "unit"):
        whole = (words >> numpy.uint64(40)).astype(numpy.int64) - 2**23
        unit = 2.0**-20 if rule == "wide" else 2.0**-23
    else:
        raise ValueError(f"[recording/formula] expected a rule of the recorded cases, got {rule!r}")
    if not floating:
        return whole
    return whole.astype(numpy.float64) * unit * float(data.get("scale", 1.0)) + float(
        data.get("offset", 0.0)
    )


def _rounded(numbers: numpy.ndarray, dtype: str) -> torch.Tensor:
    if dtype == "bfloat16":
        return torch.from_numpy(_to_odd(numbers.astype(numpy.float64))).to(torch.bfloat16)
    if dtype in ("float16", "float32"):
        return torch.from_numpy(numbers.astype(dtype))
    return torch.from_numpy(numbers).to(DTYPES[dtype])


def _to_odd(numbers: numpy.ndarray) -> numpy.ndarray:
    # A second rounding, to bfloat16, then gives the same as a single one.
    near = numbers.astype(numpy.float32)
    words = near.view(numpy.int32)
    inexact = (near.astype(numpy.float64) != numbers) & (words & 1 == 0)
    away = numpy.abs(near.astype(numpy.float64)) < numpy.abs(numbers)
    return (
        numpy.where(inexact, words + numpy.where(away, 1, -1), words)
        .astype(numpy.int32)
        .view(numpy.float32)
    )
