"""Plans are those of the command `simmesh plan`."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest

import simmesh
from simmesh import DeviceMesh, Partial, Replicate, Shard


def test_is_what_the_command_prints() -> None:
    plan = simmesh.plan((2, 4), (16, 8), "S(0),R", "R,S(1)")
    words = ["--mesh", "2x4", "--shape", "16x8", "--from", "S(0),R", "--to", "R,S(1)"]
    command = [sys.executable, "-m", "simmesh", "plan", *words]
    assert str(plan) == subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_has_steps() -> None:
    plan = simmesh.plan(mesh=[2, 4], shape=[16, 8], source="S(0),R", target=[Replicate(), "S(1)"])
    assert plan.planner == "greedy"
    assert [step.text for step in plan.steps] == ["R->S(1) on mesh dim 1", "S(0)->R on mesh dim 0"]
    assert [step.collective for step in plan.steps] == ["none", "all_gather"]
    assert plan.steps[-1].after == "R,S(1)"
    assert plan.collectives == {"all_gather": 1}
    assert plan.bytes_per_rank == sum(step.bytes_per_rank for step in plan.steps) == 64
    assert plan.cost_us > 0


def test_takes_a_mesh() -> None:
    mesh = DeviceMesh((2, 4), ("dp", "tp"))
    words: dict[str, Any] = {"shape": (16, 8), "source": [Shard(0), Replicate()], "target": "R,R"}
    assert str(simmesh.plan(mesh, **words)) == str(simmesh.plan((2, 4), **words))
    assert simmesh.plan(mesh["tp"], (8,), "S(0)", "R").collectives == {"all_gather": 1}


def test_follows_its_words() -> None:
    gather: dict[str, Any] = {
        "mesh": (2, 4),
        "shape": (16, 8),
        "source": "S(0),S(0)",
        "target": "R,R",
    }
    merged = simmesh.plan(**gather, flattened=[(0, 1)])
    assert [step.text for step in merged.steps] == ["S(0)-->R on mesh dims 0+1"]
    assert simmesh.plan(**gather, planner="graph").planner == "graph"
    assert simmesh.plan(**gather, devices_per_host=8).cost_us < simmesh.plan(**gather).cost_us
    wide, narrow = (simmesh.plan(**gather, dtype=dtype) for dtype in ("float64", "float32"))
    assert wide.bytes_per_rank == 2 * narrow.bytes_per_rank
    reduce: dict[str, Any] = {
        "mesh": (2, 2),
        "shape": (4,),
        "source": "P(avg),R",
        "target": "P(sum),R",
    }
    old = simmesh.plan(**reduce, planner="graph", release="2.13")
    assert str(old) != str(simmesh.plan(**reduce, planner="graph"))


def test_cost_may_be_infinite() -> None:
    assert math.isinf(simmesh.plan((2,), (4,), [Shard(0)], [Partial()]).cost_us)


def test_is_drawn() -> None:
    plan = simmesh.plan((2, 2), (4, 8), "S(0),R", "R,S(1)")
    assert plan.picture().startswith("start: S(0),R\n")
    assert plan.svg().startswith("<svg xmlns=")


def test_refuses_with_the_exceptions_of_pytorch() -> None:
    with pytest.raises(ValueError, match="one placement a mesh dim"):
        simmesh.plan((2,), (4,), "R,R", "R")
    with pytest.raises(IndexError, match="3"):
        simmesh.plan((2,), (4,), "S(3)", "R")
    with pytest.raises(AssertionError):
        simmesh.plan((2,), (), "S(0)", "R")
    with pytest.raises(RuntimeError, match="not supported yet"):
        simmesh.plan((2,), (4,), "S(0)", "P(max)")
    with pytest.raises(ValueError, match="got 'best'"):
        simmesh.plan((2,), (4,), "R", "R", planner="best")
    with pytest.raises(ValueError, match="float8"):
        simmesh.plan((2,), (4,), "R", "R", dtype="float8")
    with pytest.raises(TypeError):
        simmesh.plan((2,), (4,), 3, "R")  # type: ignore[arg-type]
