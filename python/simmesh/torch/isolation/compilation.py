"""``torch.compile``, whose programs a process keeps once for each function.

A program may hold values of its rank, such as its number or the size of its shard, and would run on
every rank. In ranks, compiled functions therefore run as they are written.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from simmesh.torch.isolation.patches import Patches

# The patches of the run that is under way.
_patches = Patches()


def install(patches: Patches) -> None:
    """Lets ranks run functions uncompiled: functions that are compiled already, and those that a
    rank compiles.
    """
    patches.replace(sys.modules[__name__], "_patches", patches)
    patches.around_in_ranks(torch, "compile", _compile)
    _run_uncompiled()


def _run_uncompiled() -> None:
    # Importing it takes a second, so that is left to the programs that need it.
    module = sys.modules.get("torch._dynamo.eval_frame")
    if module is not None:
        _patches.in_ranks(module, "_callback_from_stance", _no_callback)


def _no_callback(callback: Any) -> None:
    return None


def _compile(compile_in_torch: Any, *arguments: Any, **options: Any) -> Any:
    is_known = "torch._dynamo.eval_frame" in sys.modules
    compiled = compile_in_torch(*arguments, **options)
    if not is_known:
        _run_uncompiled()
    return compiled
