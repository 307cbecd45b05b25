"""Declared types of programs, compared with what the ranks hold."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

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
