"""``torch.compile``, whose programs a process keeps once for each function.

A program may hold values of its rank, such as its number or the size of its shard, and would run on
every rank. In ranks, compiled functions therefore run as they are written, and count as compiled.
"""

from __future__ import annotations

import importlib._bootstrap as bootstrap
import sys
from typing import Any

from simmesh.torch.isolation.patches import Patches

_COMPILER = "torch._dynamo.eval_frame"

# The patches of the run that is under way, and whether the compiler's are among them.
_patches = Patches()
_has_compiler = False


def install(patches: Patches) -> None:
    """Lets ranks run functions uncompiled: functions that are compiled already, and those that a
    rank compiles.
    """
    patches.replace(sys.modules[__name__], "_patches", patches)
    patches.replace(sys.modules[__name__], "_has_compiler", False)
    patches.around_in_ranks(bootstrap, "_find_and_load", _import)
    _run_uncompiled()


def _run_uncompiled() -> None:
    global _has_compiler
    # Importing it takes a second, so that is left to the programs that need it.
    module = sys.modules.get(_COMPILER)
    if module is None or not hasattr(module, "_callback_from_stance"):
        return
    _has_compiler = True
    _patches.in_ranks(module, "_callback_from_stance", _no_callback)
    if hasattr(module, "set_fullgraph_compiled_frame_count"):
        _patches.in_ranks(module, "set_fullgraph_compiled_frame_count", _no_count)


def _no_callback(callback: Any) -> None:
    return None


# 0 says that another call counts: torch raises where fullgraph=True compiled nothing.
def _no_count(count: int) -> int:
    return 0


def _import(load: Any, *arguments: Any) -> Any:
    module = load(*arguments)
    if not _has_compiler:
        _run_uncompiled()
    return module
