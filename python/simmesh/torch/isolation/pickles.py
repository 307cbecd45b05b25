"""Pickles of tensors and of the objects that ranks exchange have the same bytes in every run.

PyTorch names storages in a pickle by their addresses, and lets memory that was never written follow
an object whose pickle is shorter than that of another rank. Programs that gather objects would move
other bytes in every run.
"""

from __future__ import annotations

import io
from typing import Any

import torch
import torch.distributed.distributed_c10d as c10d
import torch.storage

from simmesh.torch.isolation.patches import Patches


def install(patches: Patches) -> None:
    """Lets ranks pickle storages in the format of files, which counts them, and add zeros to the
    pickles that they exchange.
    """
    for kind in (torch.storage._StorageBase, torch.storage.TypedStorage):
        patches.in_ranks(kind, "__reduce__", _reduce)
    patches.around_in_ranks(c10d, "_object_to_tensor", _padded_by_zeros)


def _reduce(storage: Any) -> Any:
    file = io.BytesIO()
    torch.save(storage, file)
    return torch.storage._load_from_bytes, (file.getvalue(),)


class _Pickle(torch.Tensor):
    """The bytes of a pickle, which grow by zeros."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    def resize_(self, *sizes: Any, **options: Any) -> torch.Tensor:
        before = self.numel()
        super().resize_(*sizes, **options)
        self[before:] = 0
        return self


def _padded_by_zeros(made: Any, *arguments: Any) -> tuple[torch.Tensor, torch.Tensor]:
    pickled, size = made(*arguments)
    return pickled.as_subclass(_Pickle), size
