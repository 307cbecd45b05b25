"""A torch whose operators differ is refused by name, and programs see the operators that ran."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode

import simmesh
from simmesh.torch import operators


def test_another_schema_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Would fail if a kernel could get arguments that it doesn't know."""
    operators.check_schemas()
    monkeypatch.setitem(operators.SCHEMAS, "send", "(Tensor tensor) -> int")
    with pytest.raises(
        RuntimeError, match=r"expected the operator c10d::send\(Tensor tensor\).*got c10d::send"
    ):
        operators.check_schemas()


def test_a_missing_operator_is_refused_at_import() -> None:
    """Would fail if a program could begin to run on a torch that lacks an operator."""
    program = """
import torch
names = [name for name in torch._C._dispatch_get_all_op_names() if name != "c10d::send"]
torch._C._dispatch_get_all_op_names = lambda: names
import simmesh.torch
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], text=True, capture_output=True, check=False
    )
    assert ended.returncode == 1
    assert "expected the operator c10d::send, got torch" in ended.stderr


def test_each_rank_counts_its_own_operators() -> None:
    """Would fail if CommDebugMode saw other ranks' collectives, or none."""

    def program() -> dict[str, int]:
        mesh = init_device_mesh("cpu", (2, 2))
        tensor = distribute_tensor(torch.ones(4, 4), mesh, [Shard(0), Replicate()])
        with CommDebugMode() as mode:
            tensor.redistribute(mesh, [Replicate(), Replicate()])
            tensor.sum().full_tensor()
        return {str(name): count for name, count in mode.get_comm_counts().items()}

    for schedule in ("fifo", "seeded:3", "pct:3"):
        ran = simmesh.spmd_run(program, schedule=schedule)
        assert ran.outcome.ok, ran.outcome.report
        assert ran.results[0] == {
            "c10d_functional.all_gather_into_tensor": 1,
            "c10d_functional.all_reduce": 1,
        }
        assert ran.results == [ran.results[0]] * 4
