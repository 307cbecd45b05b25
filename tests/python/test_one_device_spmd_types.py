"""Declarations by spmd_types are compared with the tensors that they are about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.distributed.device_mesh import DeviceMesh

import simmesh

spmd = pytest.importorskip("spmd_types")


def program(
    fault: bool, declare: Callable[[DeviceMesh, torch.Tensor], Any]
) -> Callable[[DeviceMesh], torch.Tensor]:
    """Declares a tensor whose rows are cut over "dp", and that is the same over "tp"."""

    def run(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        whole = torch.randn(8, 4)
        mine = whole[simmesh.rows_of(mesh["dp"].get_local_rank(), mesh["dp"].size(), 8)].clone()
        if fault:
            mine += mesh["tp"].get_local_rank()
        if mesh.size() > 1:
            declare(mesh, mine)
        simmesh.note("rows", mine)
        return mine

    return run


def by_axis(mesh: DeviceMesh, x: torch.Tensor) -> None:
    spmd.assert_type(x, {mesh.get_group("dp"): spmd.S(0), mesh.get_group("tp"): spmd.R})


def by_partition(mesh: DeviceMesh, x: torch.Tensor) -> None:
    dp, tp = mesh.get_group("dp"), mesh.get_group("tp")
    spmd.assert_type(x, {dp: spmd.V, tp: spmd.I}, spmd.PartitionSpec(dp, None))


def of_one_axis(mesh: DeviceMesh, x: torch.Tensor) -> None:
    spmd.assert_type(x, {mesh.get_group("tp"): spmd.R})


def as_parts(mesh: DeviceMesh, x: torch.Tensor) -> None:
    """Declares parts of a sum, which the bits don't show: these count."""
    spmd.assert_type(x, {mesh.get_group("dp"): spmd.P, mesh.get_group("tp"): spmd.R})


DECLARATIONS = [by_axis, by_partition, of_one_axis, as_parts]
LAYOUTS = [{"dp": 2, "tp": 2}, {"dp": 4, "tp": 1}, {"dp": 1, "tp": 2}]


@pytest.mark.parametrize("declare", DECLARATIONS)
def test_healthy_declarations_are_no_findings(declare: Any) -> None:
    """Would fail if a declaration were read for another layout than the program's."""
    comparison = simmesh.same_as_one_device(program(False, declare), layouts=LAYOUTS)
    assert comparison.equal, comparison.text
    assert all(each.compared == 2 for each in comparison.verdicts)


@pytest.mark.parametrize("declare", DECLARATIONS)
def test_tensor_that_is_not_what_it_declares_is_found(declare: Any) -> None:
    """Would fail if the report didn't say that the tensor differs from its declaration."""
    with pytest.raises(simmesh.DiffersFromOneDevice) as error:
        simmesh.same_as_one_device(program(True, declare), layouts=[{"dp": 2, "tp": 2}])
    text = str(error.value)
    assert "noted value rows" in text
    assert "it is declared as replicated, but rank 1 has other elements than rank 0" in text
