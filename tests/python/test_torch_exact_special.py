"""Complex numbers, distances and functions that exact ranks compute step by step: torch's values
and gradients, and bits that don't depend on an element's place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from simmesh.torch.exact.mode import exact_operators


def _wide(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()):
        return value.to(torch.complex128 if value.is_complex() else torch.float64)
    return value


def gradients(function: Callable[..., Any], *operands: torch.Tensor) -> list[torch.Tensor]:
    """A result and the gradients of the sum of its squares."""
    leaves = [each.detach().clone().requires_grad_() for each in operands]
    result = function(*leaves)
    (result.abs().square() if result.is_complex() else result.square()).sum().backward()
    found = [result.detach()]
    for each in leaves:
        assert each.grad is not None
        found.append(each.grad)
    return found


def assert_as_torch(function: Callable[..., Any], *operands: torch.Tensor) -> None:
    """Compares with torch's own float64, within a thousand roundings of float32: functions of
    these operands have derivatives below 1,000.
    """
    expected = gradients(function, *(_wide(each) for each in operands))
    with exact_operators():
        found = gradients(function, *operands)
    for one, other in zip(found, expected):
        size = other.abs().max().clamp(min=1.0)
        assert bool((_wide(one) - other).abs().max() <= 1e-4 * size)


def complex_of(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.complex64)


COMPLEX: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "mm": lambda z: z @ z.mT.conj(), "mm of a view": lambda z: z.mH @ z,
    "bmm": lambda z: torch.bmm(z[None], z.mT[None]), "mv": lambda z: z @ z[0],
    "addmm": lambda z: torch.addmm(z[:, :3], z, z.mT, beta=0.5, alpha=2),
    "vdot": lambda z: torch.vdot(z[0], z[1]), "dot": lambda z: torch.dot(z[0], z[1]),
    "einsum": lambda z: torch.einsum("bi,io->bo", z, z.mT), "sum": lambda z: z.sum(0),
    "mean": torch.mean, "cumsum": lambda z: z.cumsum(1), "trace": lambda z: z[:, :3].trace(),
    "div": lambda z: z / z.flip(0), "div by a number": lambda z: z / 3,
    "div by a real": lambda z: z / (z.abs() + 1), "number / z": lambda z: 2 / z,
    "number - z": lambda z: 1 - z, "abs": torch.abs, "angle": torch.angle, "sgn": torch.sgn,
    "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt, "sin": torch.sin, "cos": torch.cos,
    "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh, "sigmoid": torch.sigmoid,
    "z ** 3": lambda z: z**3, "z ** 0.5": lambda z: z**0.5, "z ** z": lambda z: z ** z.flip(1),
    "norm": lambda z: z.norm(), "1-norm": lambda z: torch.linalg.vector_norm(z, 1, 1),
    "2-norm": lambda z: torch.linalg.vector_norm(z, 2, 0, keepdim=True),
    "index": lambda z: z[torch.tensor([0, 1, 1])],
    "take": lambda z: z.take(torch.tensor([0, 5, 5])),
    "index_add": lambda z: z.index_add(0, torch.tensor([0, 0]), z[:2]),
    "unfold": lambda z: torch.fft.fft(z.unfold(1, 2, 1)),
    "pad": lambda z: functional.pad(z, (1, 1), mode="reflect"),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers(name: str) -> None:
    """Would fail if a part were computed wrongly, or a gradient refused."""
    torch.manual_seed(0)
    assert_as_torch(COMPLEX[name], complex_of(3, 4))


def test_sums_of_complex_products_are_exact() -> None:
    """Would fail if a product of complex matrices were rounded before all its terms are there."""
    torch.manual_seed(0)
    a, b = complex_of(3, 6), complex_of(6, 5)
    with exact_operators():
        whole = a @ b
        parts = sum(a[:, each] @ b[each] for each in (slice(2), slice(2, 3), slice(3, 6)))
        norm = torch.linalg.vector_norm(a)
        norms = [torch.linalg.vector_norm(each) for each in a.split(2, 1)]
        assert torch.equal(torch.linalg.vector_norm(torch.stack(norms)), norm)
        total = nn.utils.get_total_norm([a, b])
        assert torch.equal(total, torch.linalg.vector_norm(torch.cat([a.flatten(), b.flatten()])))
    assert isinstance(parts, torch.Tensor)
    assert torch.equal(torch.view_as_real(whole), torch.view_as_real(parts))


@pytest.mark.parametrize("name", ["abs", "sgn", "exp", "log", "sqrt", "tanh", "number / z"])
def test_bits_of_complex_functions_do_not_depend_on_the_place(name: str) -> None:
    """Would fail if a number had other bits in a vector register than alone."""
    given = complex_of(1, 67)
    with exact_operators():
        whole = COMPLEX[name](given)
        pieces = torch.cat([COMPLEX[name](each) for each in given.split(5, 1)], 1)
    assert torch.equal(torch.view_as_real(whole + 0j), torch.view_as_real(pieces + 0j))


@pytest.mark.parametrize("order", [0.5, 1.0, 2.0, 3.0, float("inf")])
def test_distances(order: float) -> None:
    """Would fail if a distance depended on the number of rows, as in torch from 26 rows on."""
    torch.manual_seed(0)
    one, other = torch.randn(30, 3), torch.randn(28, 3)
    assert_as_torch(lambda a, b: torch.cdist(a, b, order), one, other)
    assert_as_torch(lambda a: torch.pdist(a, order), one)
    with exact_operators():
        whole = torch.cdist(one, other, order)
        pieces = [torch.cdist(each, other, order) for each in one.split(7)]
        assert torch.equal(torch.cat(pieces), whole)
        assert not torch.cdist(one, one, order).diagonal().any()


def test_functions_step_by_step() -> None:
    """Would fail if a series ended too early, or an edge had another value than torch's."""
    torch.manual_seed(0)
    edges = torch.tensor([0.0, -0.0, 1.0, -1.0, 2.0, 0.99999994, 1e-30])
    arguments = torch.cat([torch.rand(50) * 20, -torch.rand(50) * 5])
    poles = torch.tensor([0.0, -0.0, -1.0, -2.0, torch.inf, 1e-5, 100.0])
    spread = torch.tensor([[-torch.inf, -torch.inf, 900.0, -900.0, torch.inf]])
    for function, given in (
        (torch.erfinv, edges), (torch.digamma, arguments), (torch.digamma, poles),
        (lambda x: torch.logcumsumexp(x, 1), spread),
    ):  # fmt: skip
        expected = function(given.double())
        with exact_operators():
            found = function(given)
        assert torch.allclose(found.double(), expected, rtol=1e-6, atol=1e-6, equal_nan=True)
    assert_as_torch(torch.erfinv, torch.rand(50) * 1.8 - 0.9)
    assert_as_torch(torch.lgamma, torch.rand(50) * 5 + 0.1)
    assert_as_torch(lambda x: torch.logcumsumexp(x, 1), 20 * torch.randn(3, 9))
    assert_as_torch(lambda x: torch.renorm(x, 2, 0, 1.0), torch.randn(5, 3))


def test_rows_of_a_table_are_scaled_once() -> None:
    """Would fail if a row that is looked up twice were scaled twice."""
    table = 3 * torch.randn(6, 4)
    places = torch.tensor([0, 2, 2, 5])
    expected = functional.embedding(places, table.clone(), max_norm=1.0)
    with exact_operators():
        found = functional.embedding(places, table.clone(), max_norm=1.0)
    assert torch.allclose(found, expected)


def test_sequences_and_fixed_scales() -> None:
    """Would fail if CTC's loss, or numbers rounded to a given scale, were refused."""
    torch.manual_seed(0)
    given, targets = torch.randn(7, 3, 5).log_softmax(-1), torch.randint(1, 5, (3, 2))
    lengths = torch.full((3,), 7), torch.full((3,), 2)
    with exact_operators():
        whole = functional.ctc_loss(given, targets, *lengths, reduction="none")
        alone = functional.ctc_loss(
            given[:, 1:2], targets[1:2], lengths[0][:1], lengths[1][:1], reduction="none"
        )
        assert torch.equal(whole[1:2], alone)
        rounded = torch.fake_quantize_per_tensor_affine(given, 0.05, 0, -128, 127)
    assert torch.equal(rounded, torch.fake_quantize_per_tensor_affine(given, 0.05, 0, -128, 127))


def test_lstm_is_computed_and_onednn_comes_back() -> None:
    """Would fail if a layer of one library were refused, or if its switch stayed off."""
    torch.manual_seed(0)
    layer = nn.LSTM(4, 3, 2, bidirectional=True)
    given = torch.randn(5, 6, 4)
    before = torch.backends.mkldnn.enabled
    with exact_operators(), exact_operators():
        whole, parts = layer(given)[0], [layer(each)[0] for each in given.split(2, 1)]
    assert torch.backends.mkldnn.enabled == before
    assert torch.equal(torch.cat(parts, 1), whole)
    assert torch.allclose(whole, layer(given)[0], atol=1e-6)
