"""Figures of CUDA's memory in ranks. The allocator of the CPU keeps none for each rank, so they are
those of a device on which nothing was allocated.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import Any

from simmesh.torch.cuda import devices

_AMOUNTS = (
    "allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes",
    "active_bytes", "inactive_split_bytes", "requested_bytes",
)  # fmt: skip
_POOLS = ("all", "large_pool", "small_pool")
_FIGURES = ("current", "peak", "allocated", "freed")
_COUNTS = (
    "num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free",
    "max_split_size",
)  # fmt: skip
_OVERSIZE = ("oversize_allocations", "oversize_segments")


def total() -> int:
    """The bytes of the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def memory_stats(device: Any = None) -> OrderedDict[str, int]:
    """The names of PyTorch's caching allocator, all of them zero."""
    devices.index_or_current(device)
    names = [f"{amount}.{pool}.{figure}" for amount in _AMOUNTS for pool in _POOLS
             for figure in _FIGURES]  # fmt: skip
    names += [f"{name}.{figure}" for name in _OVERSIZE for figure in _FIGURES]
    return OrderedDict.fromkeys(sorted([*names, *_COUNTS]), 0)


def nothing(device: Any = None) -> int:
    """Returns the bytes that a device has allocated."""
    devices.index_or_current(device)
    return 0


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Returns free and total bytes."""
    devices.index_or_current(device)
    return total(), total()


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Returns a text for people."""
    index = devices.index_or_current(device)
    return f"simmesh: cuda:{index} is the CPU, whose memory is counted for the whole process"


def no_change(*arguments: Any, **options: Any) -> None:
    """Does nothing where CUDA frees or counts memory: no value depends on it."""
