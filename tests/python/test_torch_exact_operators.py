"""Operators in the exact mode: each has a class, a value that is known, and bits that don't depend
on an element's place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
import torch
from torch.nn import functional
from torch.optim.optimizer import _global_optimizer_pre_hooks

import simmesh
from repository import ROOT
from simmesh.torch import exact
from simmesh.torch.exact import companions, tables
from simmesh.torch.exact.families import load
from simmesh.torch.exact.mode import exact_operators
from simmesh.torch.exact.page import page

FLOATING = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


@pytest.fixture
def mode() -> Iterator[None]:
    with exact_operators():
        yield


def fractions(tensor: torch.Tensor) -> list[Fraction]:
    return [Fraction(each) for each in tensor.double().reshape(-1).tolist()]


def rounded(value: Fraction, dtype: torch.dtype) -> float:
    """The nearest float32 or float64, found by comparing with the neighbours."""
    near = torch.tensor(float(value), dtype=torch.float64).to(dtype)
    up, down = torch.tensor(math.inf, dtype=dtype), torch.tensor(-math.inf, dtype=dtype)
    candidates = [near, torch.nextafter(near, up), torch.nextafter(near, down)]
    return min((abs(Fraction(each.item()) - value), each.item()) for each in candidates)[1]


def overloads_on_the_cpu() -> Iterator[Any]:
    for name in torch._C._dispatch_get_all_op_names():
        keys = ("CPU", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
        has_kernel = any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in keys)
        if name.startswith("aten::") and has_kernel:
            packet, _, overload = name.removeprefix("aten::").partition(".")
            yield getattr(getattr(torch.ops.aten, packet), overload or "default")


def test_every_operator_with_a_kernel_has_a_class() -> None:
    """Would fail if an operator of torch came to nobody's mind, so that it were found by a user."""
    load()
    operators = list(overloads_on_the_cpu())
    assert len(operators) > 1500
    assert [each.name() for each in operators if tables.entry_of(each) is None] == []
    kinds = [tables.entry_of(each).kind for each in operators]  # type: ignore[union-attr]
    assert kinds.count("exact") > 600
    assert kinds.count("refused") < 0.3 * len(kinds)


def test_page_is_the_table() -> None:
    """Would fail if the page of operators were older than the table."""
    assert (ROOT / "docs" / "exact_pytorch_operators.md").read_text() == page()


def test_sum_is_that_of_the_fractions(mode: None) -> None:
    """Would fail if a sum were rounded before it is complete."""
    torch.manual_seed(0)
    spread = torch.randn(1000) * torch.exp(10 * torch.randn(1000))
    x = torch.tensor(spread.tolist())  # the rounded elements
    assert x.sum().item() == rounded(sum(fractions(x), Fraction(0)), torch.float32)
    mean = sum(fractions(x), Fraction(0)) / 1000
    assert x.mean().item() == rounded(mean, torch.float32)


def test_product_is_that_of_the_fractions(mode: None) -> None:
    """Would fail if a product of matrices were rounded before it is complete."""
    a, b, c = torch.randn(3, 40), torch.randn(40, 2), torch.randn(2)
    found = torch.addmm(c, a, b, beta=0.5, alpha=3)
    for row in range(3):
        for column in range(2):
            products = zip(fractions(a[row]), fractions(b[:, column]))
            value = 3 * sum((x * y for x, y in products), Fraction(0))
            value += Fraction(1, 2) * Fraction(c[column].item())
            assert found[row, column].item() == rounded(value, torch.float32)


def test_linear_operators_keep_what_they_round(mode: None) -> None:
    """Would fail if a value were rounded between two linear operators."""
    x = torch.randn(64)
    thirds = (x / 3) * 3
    assert torch.equal(thirds, x)
    spread = sum((x / 7 for _ in range(7)), torch.zeros(64))
    assert torch.equal(spread, x)
    big = x + 1e8
    assert not torch.equal(big, x) and torch.equal(big - 1e8, x)


def test_other_readers_read_the_rounded_element(mode: None) -> None:
    """Would fail if a function saw more than the element."""
    x = torch.randn(64) / 3
    copy = torch.tensor(x.tolist())
    for function in (
        torch.exp,
        torch.relu,
        lambda each: each @ each,
        lambda each: each / each.exp(),
    ):
        assert torch.equal(function(x), function(copy))


def test_exact_values_move_with_elements(mode: None) -> None:
    """Would fail if what stands behind an element got lost or came to another one."""
    x = torch.randn(4, 6)
    thirds = x / 3
    index = torch.tensor([2, 0, 3])
    moves: list[Callable[[torch.Tensor], torch.Tensor]] = [
        torch.clone, lambda t: t.t().contiguous(), lambda t: torch.cat([t, t]), lambda t: t[index],
        lambda t: torch.stack([t, t]), lambda t: t.flip(0), lambda t: t.roll(1), torch.tril,
        lambda t: functional.pad(t, (1, 2)), lambda t: t.masked_fill(t > 0, 0.0),
        lambda t: t.gather(1, torch.tensor([[5, 0], [1, 1], [2, 3], [4, 4]])),
        lambda t: t.index_select(0, index), lambda t: torch.where(t > 0, t, torch.zeros(())),
        lambda t: functional.embedding(index, t), lambda t: t.repeat(2, 2),
        lambda t: torch.zeros(4, 6).copy_(t),
        lambda t: torch.zeros(8, 6).index_copy_(0, index, t[:3]),
        lambda t: t.view(2, 12)[1:], lambda t: t.unfold(1, 2, 1), lambda t: torch.take(t, index),
    ]  # fmt: skip
    for move in moves:
        assert torch.equal(move(thirds) * 3, move(x))


def test_element_that_anybody_writes_has_nothing_behind(mode: None) -> None:
    """Would fail if a value outlived its element."""
    x = torch.randn(8) / 3
    view, pointer = x[2:], x.numpy()
    pointer[4] = 1.0
    view[1] = 2.0
    x.data[0] = 5.0
    assert (x * 3)[[0, 3, 4]].tolist() == [15.0, 6.0, 3.0]
    x.zero_()
    assert (x * 3).tolist() == [0.0] * 8


def test_norms_of_norms_are_norms_of_all(mode: None) -> None:
    """Would fail if the norm of a part were rounded before that of the whole."""
    x = torch.randn(1000) * torch.exp(5 * torch.randn(1000))
    whole = torch.linalg.vector_norm(x)
    for parts in (2, 3, 7):
        norms = [torch.linalg.vector_norm(each) for each in x.chunk(parts)]
        assert torch.equal(torch.linalg.vector_norm(torch.stack(norms)), whole)
        squares = sum(each.pow(2) for each in norms)
        assert torch.equal(squares.sqrt(), whole)
    spread = [(whole / math.sqrt(3)).pow(2) for _ in range(3)]
    assert torch.equal((spread[0] + spread[1] + spread[2]).pow(0.5), whole)


TORCH_FUNCTIONS = tables.words(
    "exp expm1 log1p tanh sigmoid erf erfc sin cos sinh cosh atan asinh rsqrt sqrt tan exp2 "
    "reciprocal abs neg sign sinc relu"
)
ACTIVATIONS = tables.words(
    "silu gelu mish softplus elu celu selu hardswish hardsigmoid logsigmoid leaky_relu relu6 "
    "tanhshrink softsign"
)
FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    **{name: getattr(torch, name) for name in sorted(TORCH_FUNCTIONS)},
    **{name: getattr(functional, name) for name in sorted(ACTIVATIONS)},
    "gelu tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "pow 1.5": lambda x: x.abs().pow(1.5), "pow x": lambda x: x.abs().pow(x),
    "2 ** x": lambda x: 2**x, "atan2": lambda x: torch.atan2(x, x + 1),
    "add alpha": lambda x: torch.add(x, x, alpha=0.3), "lerp": lambda x: torch.lerp(x, x + 1, x),
    "logaddexp": lambda x: torch.logaddexp(x, 2 * x), "hypot": lambda x: torch.hypot(x, x + 1),
    "glu": lambda x: functional.glu(torch.stack([x, x + 1]), 0)[0],
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits_do_not_depend_on_the_place(name: str, mode: None) -> None:
    """Would fail if an element had other bits in a vector register than alone, or in a view."""
    function = FUNCTIONS[name]
    for dtype in FLOATING:
        x = (4 * torch.randn(259)).to(dtype)
        if name in ("rsqrt", "sqrt", "log1p"):
            x = x.abs()
        whole = function(x)
        pieces = torch.cat([function(each) for each in x.split(7)])
        spread = torch.stack([x, x], 1)[:, 0]
        shifted = function(torch.cat([x[:1], x])[1:])
        for other in (pieces, function(spread), shifted):
            assert torch.equal(whole.nan_to_num(7), other.nan_to_num(7)), (name, dtype)


def gradients(function: Callable[..., torch.Tensor], *operands: torch.Tensor) -> list[torch.Tensor]:
    """A result and the gradients of its sum, weighted by fixed numbers."""
    leaves = [each.clone().requires_grad_() for each in operands]
    result = function(*leaves)
    weights = torch.linspace(0.3, 1.7, result.numel(), dtype=torch.float64).to(result.dtype)
    result.backward(weights.reshape(result.shape))
    return [result.detach(), *(each.grad for each in leaves if each.grad is not None)]


MODULES: dict[str, tuple[Callable[..., torch.Tensor], list[tuple[int, ...]]]] = {
    "layer norm": (lambda x, w, b: functional.layer_norm(x, (5,), w, b), [(4, 5), (5,), (5,)]),
    "rms norm": (lambda x, w: functional.rms_norm(x, (5,), w, 1e-5), [(4, 5), (5,)]),
    "group norm": (lambda x, w, b: functional.group_norm(x, 2, w, b), [(3, 4, 5), (4,), (4,)]),
    "batch norm": (
        lambda x, w, b: functional.batch_norm(x, None, None, w, b, training=True),
        [(6, 3, 2), (3,), (3,)],
    ),
    "softmax": (lambda x: torch.softmax(x, 0), [(4, 5)]),
    "log softmax": (lambda x: torch.log_softmax(x, -1), [(4, 5)]),
    "logsumexp": (lambda x: torch.logsumexp(x, 1), [(4, 5)]),
    "cross entropy": (
        lambda x: functional.cross_entropy(
            x, torch.tensor([1, 0, -100, 2]), torch.tensor([1.0, 2.0, 0.5]).to(x.dtype),
            label_smoothing=0.1,
        ),
        [(4, 3)],
    ),
    "mse": (functional.mse_loss, [(4, 3), (4, 3)]),
    "huber": (functional.huber_loss, [(4, 3), (4, 3)]),
    "smooth l1": (functional.smooth_l1_loss, [(4, 3), (4, 3)]),
    "bce": (
        lambda x: functional.binary_cross_entropy_with_logits(x, torch.ones_like(x)), [(4, 3)],
    ),
    "attention": (
        lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        [(2, 2, 5, 4), (2, 2, 5, 4), (2, 2, 5, 4)],
    ),
    "attention, masked": (
        lambda q, k, v, m: functional.scaled_dot_product_attention(q, k, v, m.detach()),
        [(2, 2, 5, 4), (2, 2, 5, 4), (2, 2, 5, 4), (5, 5)],
    ),
    "conv1d": (
        lambda x, w, b: functional.conv1d(x, w, b, stride=2, padding=1),
        [(2, 3, 7), (4, 3, 3), (4,)],
    ),
    "conv2d": (
        lambda x, w: functional.conv2d(x, w, dilation=2, groups=2), [(2, 4, 6, 7), (6, 2, 2, 3)],
    ),
    "conv3d": (functional.conv3d, [(1, 2, 4, 3, 4), (3, 2, 2, 2, 2)]),
    "conv transposed": (
        lambda x, w, b: functional.conv_transpose2d(x, w, b, 2, 1, 1, 2),
        [(2, 4, 3, 4), (4, 3, 3, 2), (6,)],
    ),
    "average pool": (lambda x: functional.avg_pool2d(x, 3, 2, 1), [(2, 3, 6, 7)]),
    "adaptive pool": (lambda x: functional.adaptive_avg_pool2d(x, (2, 3)), [(2, 3, 5, 7)]),
    "max pool": (lambda x: functional.max_pool2d(x, 2), [(2, 3, 6, 7)]),
    "bilinear": (
        lambda x: functional.interpolate(x, (5, 9), mode="bilinear"), [(1, 2, 3, 4)],
    ),
    "einsum": (lambda a, b: torch.einsum("bij,bkj->ik", a, b), [(2, 3, 4), (2, 5, 4)]),
    "bilinear layer": (functional.bilinear, [(4, 3), (4, 2), (5, 3, 2)]),
    "cumsum": (lambda x: x.cumsum(1), [(3, 9)]),
    "variance": (lambda x: x.var(1), [(3, 9)]),
    "deviation": (lambda x: x.std(0), [(3, 9)]),
    "prod": (lambda x: x.prod(1), [(3, 5)]),
    "embedding": (lambda w: functional.embedding(torch.tensor([[1, 3], [1, 1]]), w), [(4, 5)]),
    "embedding bag": (
        lambda w: functional.embedding_bag(torch.tensor([1, 3, 1, 0, 2]), w, torch.tensor([0, 3])),
        [(4, 5)],
    ),
    "index": (lambda x: x[torch.tensor([0, 0, 2])], [(3, 4)]),
    "scatter": (
        lambda x, y: x.scatter_add(0, torch.tensor([[0, 0, 1], [1, 0, 1]]), y), [(3, 3), (2, 3)],
    ),
    "index add": (lambda x, y: x.index_add(0, torch.tensor([1, 1]), y), [(3, 4), (2, 4)]),
    "weight norm": (lambda v, g: torch._weight_norm(v, g, 0), [(4, 5), (4, 1)]),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_results_and_gradients_are_those_of_float64(name: str) -> None:
    """Would fail if an operator or its gradient had another value than torch's."""
    function, shapes = MODULES[name]
    torch.manual_seed(3)
    doubles = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
    operands = [each.float() for each in doubles]
    expected = gradients(function, *(each.double() for each in operands))
    with exact_operators():
        found = gradients(function, *operands)
        again = gradients(function, *(each.double() for each in operands))
    for one, wide, other in zip(found, again, expected):
        # A result is rounded once or a few times: 4 units of the last place of the largest.
        scale = max(1.0, other.abs().max().item())
        assert (one.double() - other).abs().max().item() <= 4 * 2**-24 * scale, name
        assert (wide - other).abs().max().item() <= 64 * 2**-53 * scale, name


def test_complex_numbers_are_multiplied_exactly() -> None:
    """Would fail if a rotation by complex numbers, or its gradient, were rounded by parts."""

    def rotated(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
        turns = torch.view_as_complex(torch.stack([angles.cos(), angles.sin()], -1)).detach()
        turned = torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turns
        return torch.view_as_real(turned).flatten(-2)

    doubles = [torch.randn(3, 6, dtype=torch.float64), torch.randn(3, dtype=torch.float64)]
    operands = [each.float() for each in doubles]
    expected = gradients(rotated, *(each.double() for each in operands))
    with exact_operators():
        found = gradients(rotated, *operands)
        numbers = torch.view_as_complex(torch.randn(4, 2) / 3)
        assert torch.equal(torch.view_as_real(numbers.clone() * 3), torch.view_as_real(numbers) * 3)
        assert torch.equal(torch.view_as_real(numbers.conj().resolve_conj()),
                           torch.view_as_real(numbers) * torch.tensor([1.0, -1.0]))  # fmt: skip
        with pytest.raises(NotImplementedError, match="complex numbers"):
            numbers.asin()
    for one, other in zip(found, expected):
        assert (one.double() - other).abs().max().item() < 1e-5


def test_complex_numbers_are_made_of_exact_parts(mode: None) -> None:
    """Would fail if rotary embeddings, which are made of angles, were refused, or were others on
    other processors; or if the parts of a number lost what stands behind them.
    """
    angles = torch.outer(torch.arange(9.0), 10000.0 ** -(torch.arange(0, 8, 2) / 8)).expand(2, 9, 4)
    turns = torch.view_as_real(torch.polar(torch.ones(4) * 2, angles))
    assert torch.equal(turns[0], turns[1])
    assert torch.equal(turns, 2 * torch.stack([angles.cos(), angles.sin()], -1))
    thirds = torch.randn(5) / 3
    made = torch.complex(thirds, -thirds)
    assert torch.equal(torch.view_as_real(made)[..., 1] * -3, thirds * 3)
    assert torch.equal(torch.cat([torch.ones(2) * 1j, torch.zeros(1) * 1j]).fill_(2j),
                       torch.tensor([2j, 2j, 2j]))  # fmt: skip
    for moved in (torch.cat([made, made])[5:], made.flip(0).flip(0), made[torch.arange(5)]):
        assert torch.equal(torch.view_as_real(moved)[..., 0] * 3, thirds * 3)


@pytest.mark.parametrize("unitriangular", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("upper", [False, True])
def test_triangular_systems_are_solved(upper: bool, left: bool, unitriangular: bool) -> None:
    """Would fail if a system of one form were solved as another, or by the place in a batch."""
    matrix = torch.randn(5, 1, 6, 6) + 4 * torch.eye(6)
    right = torch.randn(3, 6, 2) if left else torch.randn(3, 2, 6)
    options = {"upper": upper, "left": left, "unitriangular": unitriangular}
    expected = torch.linalg.solve_triangular(matrix.double(), right.double(), **options)
    with exact_operators():
        found = torch.linalg.solve_triangular(matrix, right, **options)
        alone = torch.linalg.solve_triangular(matrix[3, 0], right[1], **options)
    assert (found - expected).abs().max() <= 1e-6 * expected.abs().max()
    assert torch.equal(found[3, 1], alone)


def test_pieces_without_elements_have_nothing_behind_them(mode: None) -> None:
    """Would fail if an empty view, which has no address, were looked up in its storage's record."""
    thirds = torch.randn(2, 3) / 3
    assert torch.equal(torch.cat([thirds[:, :0], thirds], 1) * 3, thirds * 3)
    assert thirds[:0].t().clone().shape == (3, 0)


def test_refusal_names_operator_line_and_way_out() -> None:
    """Would fail if an operator without an exact form were computed inexactly, or not named."""

    def program() -> None:
        torch.linalg.eig(torch.randn(3, 3))

    error = simmesh.spmd_run(program, world_size=1, local="exact").outcome.exception
    assert isinstance(error, NotImplementedError)
    assert "linalg_eig at test_torch_exact_operators.py:" in str(error)
    assert "factorizations of matrices" in str(error) and "declare" in str(error)


def test_program_declares_its_own_operators() -> None:
    """Would fail if an operator that a program made had no way into the table."""
    library = torch.library.Library("simmesh_test", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x + x, "CPU")
    operator = torch.ops.simmesh_test.twice.default
    x = torch.randn(5)
    with exact_operators():
        with pytest.raises(NotImplementedError, match="simmesh_test::twice"):
            operator(x)
        exact.declare(operator, "safe")
        assert torch.equal(operator(x), 2 * x)
        exact.declare(operator, lambda each: each + each)
        assert torch.equal(operator(x / 3) * 1.5, x)
    with pytest.raises(ValueError, match="expected 'safe' or a function"):
        exact.declare(operator, "fast")


def test_integers_and_views_are_torchs_own(mode: None) -> None:
    """Would fail if the mode took what has no rounding."""
    x = torch.arange(10)
    assert (x.sum().item(), x.cumsum(0)[-1].item(), (x @ x).item()) == (45, 45, 285)
    assert torch.bitwise_xor(x, x).sum() == 0
    with pytest.raises(RuntimeError, match="view"):
        torch.randn(4, 4).t().view(16)


def test_nothing_changes_outside_of_ranks() -> None:
    """Would fail if the mode outlived a run, or its hooks did."""
    x = torch.randn(1000)
    before = x.sum(), functional.gelu(x), len(_global_optimizer_pre_hooks)
    simmesh.spmd_run(lambda: torch.randn(10).sum(), world_size=2, local="exact")
    after = x.sum(), functional.gelu(x), len(_global_optimizer_pre_hooks)
    assert torch.equal(before[0], after[0]) and torch.equal(before[1], after[1])
    assert before[2] == after[2]


def test_dead_storages_are_forgotten(mode: None) -> None:
    """Would fail if what stands behind tensors stayed when these are gone."""
    before = companions.nbytes()
    kept = torch.randn(100) / 3
    one = companions.nbytes() - before
    for _ in range(500):
        torch.randn(100) / 3
    assert 0 < companions.nbytes() - before <= 2 * one
    del kept
    assert companions.nbytes() == before
