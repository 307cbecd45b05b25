"""Operators of programs in the exact mode: those of ``torch.library.custom_op`` are composed of
what their function calls.
"""

from __future__ import annotations

import pytest
import torch

import simmesh
from simmesh.torch.exact.mode import exact_operators


@torch.library.custom_op("simmesh_test::thirds_of", mutates_args=())
def thirds_of(x: torch.Tensor, times: int) -> torch.Tensor:
    return torch.stack([x / 3 for _ in range(times)])


@torch.library.custom_op("simmesh_test::add_third", mutates_args={"total"})
def add_third(total: torch.Tensor, x: torch.Tensor) -> None:
    total.add_(x / 3)


@torch.library.custom_op("simmesh_test::numpy_sine", mutates_args=())
def numpy_sine(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.numpy() + 0)


@torch.library.custom_op("simmesh_test::factors", mutates_args=())
def factors(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.eigvals(x).abs()


def test_custom_operator_carries_what_its_function_computes() -> None:
    """Would fail if an operator of a program rounded what torch's operators inside of it carry."""
    x = torch.randn(50)
    with exact_operators():
        assert torch.equal(thirds_of(x, 3).sum(0), x)
        total = torch.zeros(50)
        for _ in range(3):
            add_third(total, x)
        assert torch.equal(total, x)
    assert not torch.equal(thirds_of(x, 3).sum(0), x)


def test_kernel_for_the_cpu_is_the_one_that_counts() -> None:
    """Would fail if the mode called the function for other devices."""
    half = torch.library.custom_op("simmesh_test::half", lambda x: x * 0.0, mutates_args=(),
                                   schema="(Tensor x) -> Tensor")  # fmt: skip
    half.register_kernel("cpu", lambda x: x / 2)
    with exact_operators():
        assert half(torch.ones(1)).item() == 0.5


def test_custom_operator_of_other_code_is_refused() -> None:
    """Would fail if elements that NumPy computes passed for exact ones."""

    def program() -> None:
        numpy_sine(torch.ones(2, dtype=torch.int64))
        numpy_sine(torch.ones(2))

    error = simmesh.spmd_run(program, world_size=1, local="exact").outcome.exception
    assert isinstance(error, NotImplementedError)
    assert "simmesh_test::numpy_sine at test_torch_exact_custom.py:" in str(error)
    assert "its function calls numpy(), and other code computes" in str(error)


def test_refused_operator_inside_is_named() -> None:
    """Would fail if the report named the operator of the program, which isn't what lacks a form."""
    with exact_operators(), pytest.raises(NotImplementedError, match="linalg_eig"):
        factors(torch.eye(2))
