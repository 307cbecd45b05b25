"""Operators in exact ranks that read whole rounded operands: factorizations, Fourier transforms."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import torch

from simmesh.torch.exact.mode import exact_operators


def nearly(found: torch.Tensor, expected: torch.Tensor) -> bool:
    """True within the rounding of float32, for the largest element."""
    return bool((found - expected).abs().max() <= 4e-6 * expected.abs().max())


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("length", [1, 2, 3, 8, 60, 67, 100, 130, 512])
def test_transforms_do_not_depend_on_the_place(length: int, norm: str | None) -> None:
    """Would fail if a length were split wrongly, or if bits depended on what lies beside."""
    given = torch.randn(2, length, 3, dtype=torch.complex64)
    for transform in (torch.fft.fft, torch.fft.ifft):
        expected = transform(given.to(torch.complex128), dim=1, norm=norm)
        with exact_operators():
            found = transform(given, dim=1, norm=norm)
            alone = transform(given[1, :, 2].clone(), norm=norm)
        assert nearly(found, expected)
        assert torch.equal(torch.view_as_real(found[1, :, 2]), torch.view_as_real(alone))


@pytest.mark.parametrize("sizes", [(4, 6), (5, 7), (1, 8)])
def test_transforms_of_real_numbers(sizes: tuple[int, int]) -> None:
    """Would fail if half a spectrum were completed wrongly, or dims were taken in another order."""
    given = torch.randn(3, *sizes)
    with exact_operators():
        half, whole = torch.fft.rfft2(given), torch.fft.fft2(given)
        back = torch.fft.irfft2(half, s=sizes)
    assert nearly(half, torch.fft.rfft2(given.double()))
    assert nearly(whole, torch.fft.fft2(given.double()))
    assert nearly(back, given.double())


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (1, 3), (3, 1)])
def test_qr_has_the_signs_of_lapack(shape: tuple[int, int], mode: str) -> None:
    """Would fail if Q and R were other than torch's, or depended on the place in a batch."""
    given = torch.randn(2, *shape)
    given[0, 1:, 0] = 0.0
    expected = torch.linalg.qr(given.double(), mode)
    with exact_operators():
        found = torch.linalg.qr(given, mode)
        alone = torch.linalg.qr(given[1].clone(), mode)
    for one, other, expect in zip(found, alone, expected):
        assert one.shape == expect.shape
        if one.numel():
            assert nearly(one, expect)
            assert torch.equal(one[1], other)


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_names_the_column_that_fails(upper: bool) -> None:
    """Would fail if the factor were another one, or if a matrix that has none had one."""
    root = torch.randn(2, 4, 4)
    given = root @ root.mT + torch.eye(4)
    bad = torch.diag(torch.tensor([1.0, -1.0, 1.0]))
    with exact_operators():
        found = torch.linalg.cholesky(given, upper=upper)
        alone = torch.linalg.cholesky(given[1].clone(), upper=upper)
        with pytest.raises(torch.linalg.LinAlgError, match="order 2 is not positive-definite"):
            torch.linalg.cholesky(bad, upper=upper)
    assert nearly(found, torch.linalg.cholesky(given.double(), upper=upper))
    assert torch.equal(found[1], alone)


def _spectrum(x: torch.Tensor) -> torch.Tensor:
    filtered = torch.fft.irfft(torch.fft.rfft(x) * torch.arange(5.0), n=9)
    return filtered.square().sum() + torch.view_as_real(torch.fft.fft(x)).square().sum()


def _orthogonal(x: torch.Tensor) -> torch.Tensor:
    q, r = torch.linalg.qr(x.mT)
    return (q * torch.arange(4.0)).sum() + r.square().sum()


def _root(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.cholesky(x @ x.mT + torch.eye(4)).sum()


@pytest.mark.parametrize("loss", [_spectrum, _orthogonal, _root])
def test_gradients_are_those_of_torch(loss: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Would fail if an operator of a backward pass were refused, or wrong."""
    given = torch.randn(4, 9)

    def gradient(x: Any) -> torch.Tensor:
        leaf = x.clone().requires_grad_()
        loss(leaf).backward()
        grad = leaf.grad
        assert grad is not None
        return grad

    expected = gradient(given)
    with exact_operators():
        found = gradient(given)
    assert bool((found - expected).abs().max() <= 1e-4 * expected.abs().max())


def test_complex_numbers_are_changed_in_place() -> None:
    """Would fail if what stands behind the parts were lost, or left from before the change."""
    with exact_operators():
        thirds = torch.complex(torch.ones(3), torch.ones(3)) * (1 / 3)
        thirds.mul_(3.0).add_(1j).sub_(1.0).neg_()
        parts = torch.view_as_real(thirds) * 3
    behind = float(-3 * (3 * Fraction(1 / 3) - 1))
    assert behind != 0.0 and torch.equal(parts[:, 0], torch.full((3,), behind))
    assert torch.equal(parts[:, 1], torch.full((3,), -6.0))
