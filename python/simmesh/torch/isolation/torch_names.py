"""The names of PyTorch's modules and classes that libraries and tests put patches on."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

from torch.distributed import Backend
from torch.distributed.fsdp._debug_utils import SimpleProfiler
from torch.distributed.tensor import DTensor

from simmesh.torch.isolation.namespace_version import Look

_propagator = DTensor._op_dispatcher.sharding_propagator

# Modules, and folders of modules, whose names and classes are watched.
_PATCHED = (
    "torch", "torch._tensor", "torch.autograd", "torch.autograd.function", "torch.autograd.graph",
    "torch.functional", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.parameter",
    "torch.nn.utils.clip_grad", "torch.serialization", "torch.utils.checkpoint",
    "torch.utils.data.dataloader", "torch.utils.data.dataset", "torch.utils.data.distributed",
    "torch.utils.data.sampler", "torch.optim.lr_scheduler", "torch.distributed.tensor._api",
)  # fmt: skip
_FOLDERS = (
    "torch.distributed.tensor.", "torch.nn.modules.", "torch.nn.parallel.", "torch.optim.",
)  # fmt: skip
# Names of these modules are swapped on their own; their classes are not.
_OWN_NAMES = ("torch.nn.modules.module", "torch.optim.optimizer")


class TorchNames:
    """Modules of PyTorch that are imported, and the classes that they define. It remembers what
    modules held, since most hold the same from one run to the next.
    """

    def __init__(self) -> None:
        self._modules = Look(sys.modules)
        self._watched: dict[str, tuple[types.ModuleType, Look]] = {}

    def changed(self) -> Iterator[Any]:
        """Yields the modules whose names have other values than when this was called last, and
        their classes. Where backends and sharding strategies are registered, and FSDP notes what
        it does, is yielded each time.
        """
        yield from (each for name, each in vars(_propagator).items() if name.startswith("op_"))
        yield Backend
        yield from (each for each in vars(Backend).values() if isinstance(each, (dict, list)))
        yield from (SimpleProfiler.results, SimpleProfiler.profiling)
        if self._modules.has_changed():
            self._watch_modules()
        for name, (module, look) in self._watched.items():
            if not look.has_changed():
                continue
            if name not in _OWN_NAMES:
                yield module
            for value in list(vars(module).values()):
                # The type of some names makes them warn when they are asked for their class.
                if issubclass(type(value), type) and value.__module__ == name:
                    yield value

    def _watch_modules(self) -> None:
        before = self._watched
        self._watched = {}
        for name, module in list(sys.modules.items()):
            if _is_in(name, module):
                known = before.get(name)
                if known is None or known[0] is not module:
                    known = module, Look(module)
                self._watched[name] = known


def _is_in(name: str, module: Any) -> bool:
    is_watched = name in _PATCHED or name.startswith(_FOLDERS)
    return is_watched and isinstance(module, types.ModuleType)
