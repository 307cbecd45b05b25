"""The names of PyTorch's modules and classes that libraries and tests put patches on."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

# Modules, and folders of modules, whose names and classes are watched.
_PATCHED = (
    "torch", "torch._tensor", "torch.autograd", "torch.autograd.function", "torch.autograd.graph",
    "torch.functional", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.parameter",
    "torch.nn.utils.clip_grad", "torch.serialization", "torch.utils.checkpoint",
    "torch.utils.data.dataloader", "torch.utils.data.dataset", "torch.utils.data.distributed",
    "torch.utils.data.sampler", "torch.optim.lr_scheduler", "torch.distributed.tensor._api",
)  # fmt: skip
_FOLDERS = ("torch.nn.modules.", "torch.nn.parallel.", "torch.optim.")
# Names of these modules are swapped on their own; their classes are not.
_OWN_NAMES = ("torch.nn.modules.module", "torch.optim.optimizer")


def namespaces() -> Iterator[Any]:
    """Yields modules of PyTorch that are imported, and the classes that they define."""
    for name, module in list(sys.modules.items()):
        if not isinstance(module, types.ModuleType):
            continue
        if name not in _PATCHED and not name.startswith(_FOLDERS):
            continue
        if name not in _OWN_NAMES:
            yield module
        for value in list(vars(module).values()):
            # The type of some names makes them warn when they are asked for their class.
            if issubclass(type(value), type) and value.__module__ == name:
                yield value
