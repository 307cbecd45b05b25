"""The answers of CUDA on the host, which a script asks before it starts its ranks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

import torch
import torch.accelerator
import torch.cuda

from simmesh.torch.cuda import devices
from simmesh.torch.isolation.patches import Patches


@contextmanager
def node_of(count: int) -> Iterator[None]:
    """Lets ``torch.cuda`` and ``torch.accelerator`` say that the machine has so many devices, as in
    ``mp.spawn(main, nprocs=torch.cuda.device_count())``. The ranks see as many.
    """
    answers: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "device_count": devices.count,
        "is_bf16_supported": lambda including_emulation=True: True,
        "current_accelerator": lambda check_available=False: torch.device("cuda"),
    }
    patches = Patches()
    patches.replace(devices, "seen_by_host", count)
    try:
        for module in (torch.cuda, torch.accelerator):
            for name, answer in answers.items():
                if name in vars(module):
                    patches.replace(module, name, answer)
        yield
    finally:
        patches.undo()
