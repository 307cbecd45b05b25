"""The profiler of autograd, which a process has one of: in a rank it is refused.

Two threads that profile at once end the process by a signal.
"""

from __future__ import annotations

from typing import Any

import torch.autograd.profiler

from simmesh import _core
from simmesh.torch.isolation.patches import Patches


def install(patches: Patches) -> None:
    """Lets the start of a profiler raise in ranks."""
    for name in ("_prepare_profiler", "_enable_profiler", "_enable_profiler_legacy"):
        if hasattr(torch.autograd.profiler, name):
            patches.in_ranks(torch.autograd.profiler, name, _refuse)


def _refuse(*arguments: Any, **options: Any) -> None:
    raise RuntimeError(
        f"[torch/profiler] rank {_core.rank()}: expected no autograd profiler in a rank, because "
        "the process has only "
        "one for all of them, got a profiler that starts; profile outside of the run"
    )
