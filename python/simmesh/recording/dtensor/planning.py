"""Records the steps of PyTorch's redistributions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch.distributed.tensor import _redistribute
from torch.distributed.tensor.placement_types import Placement

from simmesh import _core
from simmesh.recording import placements

_plans: dict[int, list[Any]] = {}
_NAMES = ("_optimize_transform_infos", "use_min_cost_redistribution_plan")
_COLLECTIVES = {"PR": "all_reduce", "PS": "reduce_scatter", "SR": "all_gather", "SS": "all_to_all"}


@contextmanager
def planned_by(planner: str) -> Iterator[None]:
    """Plans with ``greedy`` or ``graph`` for the time of a run; entered on the host's thread."""
    missing = [name for name in _NAMES if not hasattr(_redistribute, name)]
    if missing:
        raise RuntimeError(
            "[recording/planning] expected a PyTorch whose redistribution has "
            f"{', '.join(missing)}, got one without"
        )
    original = _redistribute._optimize_transform_infos

    def noting(*arguments: Any, **keywords: Any) -> Any:
        plan = original(*arguments, **keywords)
        rank = _core.rank()
        if rank in _plans:
            _plans[rank].append(list(plan))
        return plan

    _redistribute._optimize_transform_infos = noting
    try:
        with _redistribute.use_min_cost_redistribution_plan(planner == "graph"):
            yield
    finally:
        _redistribute._optimize_transform_infos = original


@contextmanager
def noted() -> Iterator[list[Any]]:
    """The plans of the redistributions that this rank makes."""
    rank = _core.rank()
    assert rank is not None
    plans = _plans[rank] = []
    try:
        yield plans
    finally:
        del _plans[rank]


def steps_of(plan: Sequence[Any], source: Sequence[Placement]) -> list[dict[str, Any]]:
    """The steps of a plan as cases write them."""
    now = [placements.write(placement) for placement in source]
    steps = []
    for info in plan:
        merged = getattr(info, "original_mesh_dims", None)
        dims = list(merged or (info.mesh_dim,))
        before, after = (placements.write(placement) for placement in info.src_dst_placements)
        for dim in dims:
            now[dim] = after
        step: dict[str, Any] = {"mesh_dims": dims, "from": before, "to": after, "after": list(now)}
        if merged:
            step["merged"] = True
        if getattr(info, "avg_scale", None):
            step["divide_by"] = info.avg_scale
        steps.append(step)
    return steps


def collectives_of(steps: Sequence[dict[str, Any]], mesh_shape: Sequence[int]) -> dict[str, int]:
    """Returns the number of collectives of each kind that the steps need. A step that changes
    tensor dims is one all_to_all.

    On the CPU PyTorch replaces an all_to_all by a gather, which isn't counted as one.
    """
    counts: dict[str, int] = {}
    for step in steps:
        size = 1
        for dim in step["mesh_dims"]:
            size *= mesh_shape[dim]
        for name in _kinds(step) if size > 1 else ():
            counts[name] = counts.get(name, 0) + 1
    return counts


def _kinds(step: dict[str, Any]) -> list[str]:
    source, target = step["from"], step["to"]
    if "_S" in source + target:
        # These go through R.
        return [{"P": "all_reduce", "R": ""}.get(source[0], "all_gather")] if source != "R" else []
    name = _COLLECTIVES.get(source[0] + target[0])
    return [name] if name else []
