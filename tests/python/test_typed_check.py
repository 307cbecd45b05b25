"""Declared types of programs, compared with what the ranks hold."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.distributed.device_mesh import DeviceMesh

from simmesh import typed
from typed_lies import HONEST, LIES, Program, line_of_lie, run

PACKAGES = ["simmesh", "spmd_types"]


def package_of(name: str) -> Any:
    """A package by its name; the test is left out where it isn't installed."""
    if name == "simmesh":
        return typed
    spmd = pytest.importorskip("spmd_types")
    checker = pytest.importorskip("spmd_types.checker")
    return SimpleNamespace(**vars(spmd), typecheck=checker.typecheck)


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("program", LIES, ids=lambda each: each.__name__)
def test_first_tensor_that_lies_is_found(program: Program, package: str) -> None:
    """Would fail if a lie passed, or another line than the one that makes it were named."""
    verdict = typed.check(run(program, package_of(package)), ranks=4)
    assert verdict.first is not None, verdict.text
    assert verdict.first.line == line_of_lie(program), verdict.text
    with pytest.raises(typed.TypeLie):
        verdict.check()


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("program", HONEST, ids=lambda each: each.__name__)
def test_honest_programs_have_no_findings(program: Program, ranks: int, package: str) -> None:
    """Would fail if a tensor that is what it declares were called a lie."""
    verdict = typed.check(run(program, package_of(package)), ranks=ranks)
    assert verdict.ok, verdict.text
    assert verdict.compared_with_one_device >= 8


def test_there_are_many_lies() -> None:
    assert len({each.__name__ for each in LIES}) >= 20


def test_verdict_says_why_one_device_was_left_out() -> None:
    """Would fail if a program that can't be compared seemed to be."""

    def program(mesh: DeviceMesh) -> None:
        with typed.set_current_mesh(mesh), typed.typecheck():
            x = typed.assert_type(torch.ones(2).clone(), typed.R)
            assert typed.type_of(x * 2, "tp") is typed.R

    verdict = typed.check(program, ranks=2)
    assert verdict.ok
    assert verdict.compared_with_one_device == 0
    assert "doesn't run on one device: AssertionError" in verdict.text
    assert "not compared with one device" in typed.check(program, ranks=2, one_device=False).text


def test_input_of_each_rank_is_compared_between_ranks_only() -> None:
    """Would fail if a program with data of its own on each rank were called a lie."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(mesh.get_rank())
        x = torch.randn(2, 3)
        with typed.set_current_mesh(mesh), typed.typecheck():
            typed.assert_type(x, {"dp": typed.S(0)})
            total = typed.all_reduce(x.sum(0), "dp", src=typed.V, dst=typed.I)
            total * 2

    verdict = typed.check(program, layout={"dp": 4})
    assert verdict.ok, verdict.text
    assert "is no part of what one device has" in verdict.text


def test_two_axes_are_compared_along_each() -> None:
    """Would fail if ranks of another group were compared, or an uneven cut weren't joined."""

    def program(mesh: DeviceMesh, factor: float) -> None:
        torch.manual_seed(0)
        dp, tp = mesh["dp"], mesh["tp"]
        rows = slice(0, 5) if dp.size() == 1 else [slice(0, 3), slice(3, 5)][dp.get_local_rank()]
        x = torch.randn(5, 8)[rows].clone()
        w = torch.randn(8, 8).chunk(tp.size(), 1)[tp.get_local_rank()].clone().requires_grad_()
        with typed.set_current_mesh(mesh), typed.typecheck():
            typed.assert_type(x, {"dp": typed.S(0), "tp": typed.I})
            typed.assert_type(w, {"dp": typed.I, "tp": typed.S(1)})
            whole = typed.convert(x, "tp", src=typed.I, dst=typed.R)
            hidden = whole @ typed.convert(w, "dp", src=typed.I, dst=typed.R)
            y = typed.all_gather(hidden, "tp", src=typed.S(1), dst=typed.I)
            y = y * (factor if mesh.get_rank() == 3 else 1.0)
            loss = typed.reinterpret(y.square().sum(), "dp", src=typed.V, dst=typed.P)
            loss.backward()

    honest = typed.check(lambda mesh: program(mesh, 1.0), layout={"dp": 2, "tp": 2})
    assert honest.ok, honest.text
    assert honest.compared_with_one_device >= 10
    first = typed.check(lambda mesh: program(mesh, 2.0), layout={"dp": 2, "tp": 2}).first
    assert first is not None
    assert (first.axis, first.declared, first.actual) == ("tp", "I", "V")
    assert "rank 3 has other elements than rank 2" in first.text
