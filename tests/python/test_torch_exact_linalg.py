"""Inverses, solutions, determinants, eigenvalues and singular values in exact ranks: torch's
values, with bits that depend on the matrix alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import linalg

from simmesh.torch.exact.mode import exact_operators

SIZES = (1, 2, 3, 5, 8)


def nearly(found: torch.Tensor, expected: torch.Tensor, bound: float = 2e-5) -> bool:
    """True within some roundings of float32, for the largest element. The matrices here have
    condition numbers below 100.
    """
    size = expected.abs().max().clamp(min=1.0)
    return bool((found.double() - expected).abs().max() <= bound * size)


def _general(x: torch.Tensor) -> torch.Tensor:
    """A matrix that is far from singular, and needs its rows exchanged."""
    return (x + 4 * torch.eye(x.shape[-1], dtype=x.dtype)).flip(-2)


def _positive(x: torch.Tensor) -> torch.Tensor:
    return x @ x.mT + torch.eye(x.shape[-1], dtype=x.dtype)


def _right(x: torch.Tensor) -> torch.Tensor:
    return x[..., :2].cumsum(-1)


def _of_eigenvalues(x: torch.Tensor) -> torch.Tensor:
    values, vectors = linalg.eigh(_positive(x), UPLO="U")
    return vectors @ torch.diag_embed(values**-0.25) @ vectors.mT


def _of_singular_values(x: torch.Tensor) -> torch.Tensor:
    left, values, right = linalg.svd(x, full_matrices=False)
    return (left * values.unsqueeze(-2)) @ right


FUNCTIONS: dict[str, Callable[[torch.Tensor], Any]] = {
    "inv": lambda x: linalg.inv(_general(x)),
    "solve": lambda x: linalg.solve(_general(x), _right(x)),
    "solve, right": lambda x: linalg.solve(_general(x), _right(x).mT, left=False),
    "solve, vector": lambda x: linalg.solve(_general(x), x[..., 0]),
    "det": lambda x: linalg.det(_general(x)),
    "slogdet": lambda x: torch.stack(list(linalg.slogdet(_general(x)))),
    "lu_factor": lambda x: linalg.lu_factor(_general(x))[0],
    "lu": lambda x: (lambda p, low, up: p @ low @ up)(*linalg.lu(_general(x))),
    "lu_solve": lambda x: linalg.lu_solve(*linalg.lu_factor(_general(x)), _right(x)),
    "lu_solve, adjoint": lambda x: linalg.lu_solve(
        *linalg.lu_factor(_general(x)), _right(x), adjoint=True
    ),
    "lu_solve, right": lambda x: linalg.lu_solve(
        *linalg.lu_factor(_general(x)), _right(x).mT, left=False
    ),
    "cholesky_solve": lambda x: torch.cholesky_solve(_right(x), linalg.cholesky(_positive(x))),
    "cholesky_solve, upper": lambda x: torch.cholesky_solve(
        _right(x), linalg.cholesky(_positive(x), upper=True), upper=True
    ),
    "cholesky_inverse": lambda x: torch.cholesky_inverse(linalg.cholesky(_positive(x))),
    "eigvalsh": lambda x: linalg.eigvalsh(_positive(x)),
    "eigh": _of_eigenvalues,
    "svd": _of_singular_values,
    "svdvals": linalg.svdvals,
    "pinv": lambda x: linalg.pinv(_general(x)),
    "pinv, hermitian": lambda x: linalg.pinv(_positive(x), hermitian=True),
    "matrix_exp": lambda x: torch.matrix_exp(x / 2),
    "matrix_power": lambda x: linalg.matrix_power(_general(x), -2),
    "nuclear norm": lambda x: linalg.matrix_norm(x, "nuc"),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_of_torch(name: str) -> None:
    """Would fail if a step were wrong, or if a matrix had other bits beside another one."""
    function = FUNCTIONS[name]
    for size in SIZES:
        torch.manual_seed(size)
        given = torch.randn(3, size, size)
        expected = function(given.double())
        with exact_operators():
            found, alone = function(given), function(given[1].clone())
            spread = function(torch.stack([given, given], -1)[..., 0])
        assert nearly(found, expected), size
        of_one = found[:, 1] if name == "slogdet" else found[1]
        assert torch.equal(of_one, alone) and torch.equal(found, spread), size


@pytest.mark.parametrize("name", [each for each in FUNCTIONS if each != "slogdet"])
def test_gradients_are_those_of_torch(name: str) -> None:
    """Would fail if a backward pass read other factors than torch's own keeps."""
    function = FUNCTIONS[name]

    def gradient(x: torch.Tensor, is_transposed: bool) -> torch.Tensor:
        leaf = x.clone().requires_grad_()
        function(leaf.mT.contiguous().mT if is_transposed else leaf).square().sum().backward()
        assert leaf.grad is not None
        return leaf.grad

    torch.manual_seed(5)
    given = torch.randn(2, 4, 4)
    for is_transposed in (False, True):
        with exact_operators():
            found = gradient(given, is_transposed)
        assert nearly(found, gradient(given.double(), is_transposed), 1e-3)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (1, 4), (6, 2), (4, 4)])
def test_singular_vectors_are_orthonormal(shape: tuple[int, int]) -> None:
    """Would fail if a basis weren't completed, as for matrices that lack a rank."""
    torch.manual_seed(1)
    for given in (torch.randn(2, *shape), torch.ones(2, *shape), torch.zeros(2, *shape)):
        with exact_operators():
            left, values, right = linalg.svd(given)
        for basis in (left.double(), right.mT.double()):
            assert nearly(basis.mT @ basis, torch.eye(basis.shape[-1]).double())
        count = min(shape)
        whole = (left[..., :count] * values.unsqueeze(-2)) @ right[..., :count, :]
        assert nearly(whole, given.double())
        assert bool((values.diff() <= 0).all())


def test_eigenvectors_have_one_sign() -> None:
    """Would fail if the sign of an eigenvector depended on the way it was found."""
    torch.manual_seed(2)
    given = torch.randn(4, 6, 6)
    with exact_operators():
        values, vectors = linalg.eigh(given + given.mT)
    largest = vectors.gather(-2, vectors.abs().argmax(-2, keepdim=True))
    assert bool((largest > 0).all()) and bool((values.diff() >= 0).all())


def test_singular_matrices_are_named_as_by_torch() -> None:
    """Would fail if a matrix without an inverse had one."""
    with exact_operators():
        with pytest.raises(linalg.LinAlgError, match="singular"):
            linalg.inv(torch.ones(3, 3))
        with pytest.raises(linalg.LinAlgError, match="singular"):
            linalg.solve(torch.zeros(2, 2), torch.ones(2))
        sign, logarithm = linalg.slogdet(torch.ones(2, 2))
        assert (sign.item(), logarithm.item()) == (0.0, -torch.inf)
        assert linalg.det(torch.zeros(0, 0)).item() == 1.0
