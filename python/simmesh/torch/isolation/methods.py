"""Methods of classes of C code that are replaced while a run lasts."""

from __future__ import annotations

import ctypes
import gc
from typing import Any, Callable

from simmesh.torch.isolation.patches import Patches


def replace(patches: Patches, kind: type, functions: dict[str, Callable[..., Any]]) -> None:
    """Replaces methods for all objects of a class, also for those that exist. Python lets nobody
    set an attribute of such a class, so this writes to the dictionary behind it.
    """
    (namespace,) = gc.get_referents(kind.__dict__)
    before = {name: namespace[name] for name in functions}
    _write(kind, namespace, functions)
    patches.at_end(lambda: _write(kind, namespace, before))


def _write(kind: type, namespace: dict[str, Any], functions: dict[str, Any]) -> None:
    namespace.update(functions)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
