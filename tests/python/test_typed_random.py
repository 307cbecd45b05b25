"""Random programs, typed by simmesh.typed and by spmd_types."""

from __future__ import annotations

import os
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.distributed.device_mesh import init_device_mesh

import simmesh
from simmesh.typed.spmd_types_reader import observed_package
from typed_random import Outcome, RandomProgram

spmd = pytest.importorskip("spmd_types")
checker = pytest.importorskip("spmd_types.checker")
if tuple(map(int, version("spmd_types").split(".")[:2])) < (0, 3):
    pytest.skip("spmd_types before 0.3 has other rules", allow_module_level=True)

_PROGRAMS = int(os.environ.get("SIMMESH_TYPED_PROGRAMS", "100"))
_STEPS = 12


def test_programs_are_accepted_as_by_spmd_types() -> None:
    """Would fail if a call had another type than spmd_types gives it, or another verdict."""
    theirs: Any = SimpleNamespace(**vars(spmd), typecheck=checker.typecheck)

    def program() -> list[Outcome]:
        torch.manual_seed(0)
        meshes = [
            init_device_mesh("cpu", (4,), mesh_dim_names=("tp",)),
            init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp")),
        ]
        outcomes = []
        for seed in range(_PROGRAMS):
            mode = "permissive" if seed % 5 == 4 else "strict"
            program = RandomProgram(seed, meshes[seed % 2], theirs, mode)
            outcomes.append(program.run(_STEPS))
        return outcomes

    with observed_package():
        ran = simmesh.spmd_run(program, world_size=4, timeout=900)
    assert ran.outcome.ok, ran.outcome.report
    outcomes = ran.results[0]
    differing = [text for each in outcomes for text in each.differing]
    assert not differing, "\n".join(differing)
    disputed = sum(len(each.disputed) for each in outcomes)
    steps, accepted = (
        sum(getattr(each, name) for each in outcomes) for name in ("steps", "accepted")
    )
    assert steps == _PROGRAMS * (_STEPS + 2)
    assert accepted > steps // 5
    assert _PROGRAMS < 100 or 0 < disputed < steps // 20
