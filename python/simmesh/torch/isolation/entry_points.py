"""The backends that installed packages offer to PyTorch, which ranks look up once."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import sys
from typing import Any

from torch.distributed import Backend

from simmesh.torch.isolation.patches import Patches

# PyTorch asks for these whenever a group is made, and reads the metadata of every package then.
_BACKENDS = "torch.distributed.backends"


def install(patches: Patches) -> None:
    """Lets ranks share what was found in the same folders, those that are processes too."""
    if hasattr(Backend, "_ensure_backend_registered"):
        _entry_points(importlib.metadata.entry_points, group=_BACKENDS)
    patches.around_in_ranks(importlib.metadata, "entry_points", _entry_points)


def _entry_points(find: Any, **parameters: Any) -> Any:
    if parameters != {"group": _BACKENDS}:
        return find(**parameters)
    folders = tuple(each for each in sys.path if isinstance(each, str))
    return _found(find, tuple(map(id, sys.meta_path)), folders, tuple(map(_changed, folders)))


@functools.lru_cache(maxsize=8)
def _found(
    find: Any, finders: tuple[int, ...], folders: tuple[str, ...], changed: tuple[int | None, ...]
) -> Any:
    return find(group=_BACKENDS)


def _changed(folder: str) -> int | None:
    """The time at which a package was last added to a folder or removed; None for no folder."""
    try:
        return os.stat(folder or ".").st_mtime_ns
    except (OSError, ValueError):
        return None
