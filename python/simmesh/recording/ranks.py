"""Runs recordings on the ranks of a simulated job, with the installed PyTorch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from simmesh.world import raise_failure


@dataclass(frozen=True)
class Settings:
    """The options of ranks that record. The record doesn't depend on schedule and seed."""

    schedule: str = "fifo"
    seed: int = 0
    arithmetic: str = "canonical"
    timeout: float = 60.0


def source() -> str:
    """Returns the version of the recorded PyTorch: the text of the cases' field ``source``."""
    return f"pytorch {torch.__version__.partition('+')[0]}"


def on_ranks(body: Callable[[int], Any], ranks: int, settings: Settings = Settings()) -> list[Any]:
    """Returns the value of ``body(rank)`` on each rank, with the default process group made.

    Raises the error of the first failing rank, with the report as its note.
    """
    from simmesh.torch import Schedule, run

    def program(rank: int) -> Any:
        dist.init_process_group("gloo")
        try:
            return body(rank)
        finally:
            dist.destroy_process_group()

    _, _, word = settings.schedule.partition(":")
    schedule = Schedule(settings.schedule, int(word) if word.isdigit() else settings.seed)
    ran = run(
        program, ranks, schedule=schedule, arithmetic=settings.arithmetic, timeout=settings.timeout
    )
    raise_failure(ran.outcome)
    return ran.results


def world_of(case: dict[str, Any]) -> int:
    """Returns the number of ranks of a case's world."""
    mesh = case["mesh"]
    ranks = mesh.get("ranks") or range(math.prod(mesh["shape"]))
    return max([int(case.get("world", 0)), *(rank + 1 for rank in ranks)])


def mesh_of(mesh: dict[str, Any]) -> DeviceMesh:
    """The mesh of a case, made by this rank."""
    names = mesh.get("names")
    if "ranks" in mesh:
        ranks = torch.tensor(mesh["ranks"]).reshape(mesh["shape"])
        return DeviceMesh("cpu", ranks, mesh_dim_names=names)
    return init_device_mesh("cpu", tuple(mesh["shape"]), mesh_dim_names=names)


def by_rank(values: Sequence[Any]) -> Any:
    """Returns the value that all ranks have, or the list of their values under ``by_rank``."""
    first = values[0]
    return first if all(value == first for value in values) else {"by_rank": list(values)}


def merge(values: Sequence[Any]) -> Any:
    """Returns one description of the ranks' descriptions: leaves that differ become ``by_rank``."""
    first = values[0]
    if all(isinstance(value, dict) and value.keys() == first.keys() for value in values):
        return {key: merge([value[key] for value in values]) for key in first}
    if all(isinstance(value, list) and len(value) == len(first) for value in values) and any(
        isinstance(item, (dict, list)) for item in first
    ):
        return [merge([value[index] for value in values]) for index in range(len(first))]
    return by_rank(values)
