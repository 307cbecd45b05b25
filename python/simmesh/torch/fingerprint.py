"""Words that make values of different ranks distinct, for the data hash of a run."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from typing import Any

import torch


def fingerprint(value: Any) -> int:
    """64 bits of a value's bits: tensors (also sharded ones), numbers, text, and containers of
    them.

    Other values count by their class only, because their text may differ from run to run.
    """
    digest = hashlib.blake2b(digest_size=8)
    _fold(digest, value)
    return int.from_bytes(digest.digest(), "little")


def _fold(digest: Any, value: Any) -> None:
    digest.update(type(value).__qualname__.encode() + b"\0")
    if isinstance(value, torch.Tensor):
        _fold_tensor(digest, value)
    elif isinstance(value, dict):
        for key, item in value.items():
            _fold(digest, key)
            _fold(digest, item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _fold(digest, item)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            _fold(digest, getattr(value, field.name))
    elif value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        digest.update(repr(value).encode() + b"\0")


def _fold_tensor(digest: Any, tensor: torch.Tensor) -> None:
    local = getattr(tensor, "_local_tensor", None)
    if local is not None:
        digest.update(repr((tuple(tensor.shape), tensor.placements)).encode())
        tensor = local
    tensor = tensor.detach()
    digest.update(f"{tensor.dtype} {tuple(tensor.shape)} {tensor.layout}".encode())
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    tensor = tensor.cpu().resolve_conj().resolve_neg().contiguous()
    if tensor.numel():
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
