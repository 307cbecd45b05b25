"""Plans of redistributions, which each rank makes for itself.

PyTorch caches them in the process by meshes, which are equal on all ranks; but a plan holds sizes
that depend on the rank's coordinate. So the plan of another rank would cut uneven shards in the
wrong place.
"""

from __future__ import annotations

import functools
from typing import Any, Callable

import torch.distributed.tensor._redistribute

from simmesh import _core
from simmesh.torch.isolation.patches import Patches

#: What is cached, and what makes it.
_CACHED = (
    ("_gen_transform_infos", "_gen_transform_infos_non_cached"),
    ("get_redistribute_planner", "DTensorRedistributePlanner"),
)


def install(patches: Patches) -> None:
    """Gives each rank of a run caches of its own."""
    planning = torch.distributed.tensor._redistribute
    for name, maker in _CACHED:
        if hasattr(planning, name) and hasattr(planning, maker):
            cached = _cached_by_rank(getattr(planning, maker))
            # A program may have imported the function by name, to empty its cache.
            patches.replace(getattr(planning, name), "cache_clear", cached.cache_clear)
            patches.replace(planning, name, cached)


def _cached_by_rank(make: Callable[..., Any]) -> Any:
    caches: dict[int | None, Any] = {}

    @functools.wraps(make)
    def cached(*arguments: Any, **keywords: Any) -> Any:
        rank = _core.rank()
        if rank not in caches:
            caches[rank] = functools.cache(make)
        return caches[rank](*arguments, **keywords)

    cached.cache_clear = lambda: caches.pop(_core.rank(), None)  # type: ignore[attr-defined]
    return cached
