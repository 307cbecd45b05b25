"""Operators of torch's own samples: ``out`` and in-place forms have the bits of the form that
returns, and bits don't depend on where in memory the operands lie.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

from simmesh.torch.exact.mode import exact_operators

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

#: Torch's own composition of these forgets ``out`` under any mode, or without one.
FORGOTTEN = {"linalg.matrix_rank", "linalg.matrix_rank.hermitian", "fft.ihfft2", "fft.ihfftn"}
#: Their elements are drawn, or left as they were.
DRAWN = {"empty", "normal", "normal.number_mean", "uniform", "exponential", "geometric",
         "log_normal", "cauchy", "normal.in_place", "nn.functional.dropout"}  # fmt: skip
#: Torch fills the result of these before it reads the operand.
FILLED_FIRST = {"amax", "amin"}


def named(info: Any) -> str:
    variant = info.variant_test_name
    return f"{info.name}.{variant}" if variant else str(info.name)


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.is_complex():
        one, other = (torch.view_as_real(each.resolve_conj()) for each in (one, other))
    return torch.equal(one, other) or torch.allclose(one, other, 0, 0, equal_nan=True)


def samples_of(info: Any, dtype: torch.dtype) -> list[Any]:
    return [each for each, _ in zip(info.sample_inputs("cpu", dtype), range(3))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_out_has_the_bits_of_the_result(dtype: torch.dtype) -> None:
    """Would fail if ``out`` were left as it was, or read after it is written where it is an
    operand, as in ``torch.addmm(c, a, b, out=c)``.
    """
    wrong, tried = set(), 0
    for info in op_db:
        name = named(info)
        is_known = name in FORGOTTEN | DRAWN
        if not info.supports_out or is_known or dtype not in info.supported_dtypes("cpu"):
            continue
        for sample in samples_of(info, dtype):
            try:
                with exact_operators():
                    results = info(sample.input, *sample.args, **sample.kwargs)
            except NotImplementedError:
                break
            results = [results] if isinstance(results, torch.Tensor) else results
            is_listed = isinstance(results, (list, tuple))
            if not is_listed or not all(isinstance(each, torch.Tensor) for each in results):
                break
            results = [each.resolve_conj() for each in results]
            source = sample.input
            outs = [[torch.full_like(each, 7) for each in results]]
            may_be_operand = (
                len(results) == 1 and isinstance(source, torch.Tensor) and source.is_contiguous()
                and source.shape == results[0].shape and source.dtype == results[0].dtype
                and name not in FILLED_FIRST
            )  # fmt: skip
            if may_be_operand:
                outs.append([source.clone()])
            for targets in outs:
                operand = targets[0] if targets is not outs[0] else source
                given = targets[0] if len(targets) == 1 else tuple(targets)
                try:
                    with exact_operators():
                        info(operand, *sample.args, **sample.kwargs, out=given)
                except RuntimeError as error:
                    if "out" not in str(error) and "memory" not in str(error):
                        raise
                    continue  # torch takes no such ``out``
                tried += 1
                if not all(map(same, results, targets)):
                    wrong.add(name)
    assert wrong == set()
    assert tried > (900 if dtype is torch.float32 else 250)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_in_place_forms_have_the_bits_of_the_result(dtype: torch.dtype) -> None:
    """Would fail if an operand were read after it has changed."""
    wrong, tried = set(), 0
    for info in op_db:
        in_place, name = info.inplace_variant, named(info)
        if in_place is None or name in DRAWN or dtype not in info.supported_dtypes("cpu"):
            continue
        for sample in samples_of(info, dtype):
            changed = sample.input.clone()
            try:
                with exact_operators():
                    result = info(sample.input, *sample.args, **sample.kwargs)
                    if result.shape != changed.shape or result.dtype != changed.dtype:
                        continue
                    in_place(changed, *sample.args, **sample.kwargs)
            except NotImplementedError:
                break
            tried += 1
            if not same(result.resolve_conj(), changed):
                wrong.add(name)
    assert wrong == set()
    assert tried > (200 if dtype is torch.float32 else 60)


#: Their results are of the memory itself, or random.
OF_MEMORY = DRAWN | {
    "empty_like", "new_empty", "new_empty_strided", "empty_strided", "empty_permuted", "as_strided",
    "as_strided.partial_views", "as_strided_copy", "as_strided_scatter",
    # Where the last dim isn't dense, torch chooses another formula, above the operators.
    "nn.functional.scaled_dot_product_attention",
    # Torch's gradients are those of A' where A is contiguous.
    "linalg.det", "linalg.slogdet", "logdet",
}  # fmt: skip


def elsewhere(tensor: torch.Tensor) -> torch.Tensor:
    """The elements at an address that no vector register begins at."""
    found = torch.empty(tensor.numel() + 3, dtype=tensor.dtype)[3:].view(tensor.shape)
    return found.copy_(tensor)


def apart(tensor: torch.Tensor) -> torch.Tensor:
    """The elements with others between them."""
    return torch.stack([tensor, torch.zeros_like(tensor)], -1)[..., 0]


def computed(info: Any, sample: Any, place: Callable[[torch.Tensor], torch.Tensor]) -> list[Any]:
    """The results of a sample and the gradients of the sum of their squares."""
    leaves = []

    def placed(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(placed, value))
        if not isinstance(value, torch.Tensor):
            return value
        found = place(value.detach()) if value.is_floating_point() else value
        if value.requires_grad:
            leaves.append(found.requires_grad_())
        return found

    torch.manual_seed(0)
    with exact_operators():
        operands = [placed(each) for each in (sample.input, *sample.args)]
        named_operands = {name: placed(each) for name, each in sample.kwargs.items()}
        results = info(*operands, **named_operands)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        results = [each for each in results if isinstance(each, torch.Tensor)]
        summed = [each for each in results if each.requires_grad and each.is_floating_point()]
        if summed:
            torch.stack([each.square().sum() for each in summed]).sum().backward()
    found = [each.detach() for each in results]
    return found + [each.grad for each in leaves if each.grad is not None]


@pytest.mark.filterwarnings("ignore")
def test_bits_do_not_depend_on_where_operands_lie() -> None:
    """Would fail if an element had other bits in a vector register than alone, in any operator."""
    wrong, tried = set(), 0
    for info in op_db:
        if torch.float32 not in info.supported_dtypes("cpu") or named(info) in OF_MEMORY:
            continue
        is_differentiable = info.supports_autograd
        samples = info.sample_inputs("cpu", torch.float32, requires_grad=is_differentiable)
        for sample, _ in zip(samples, range(2)):
            try:
                expected = computed(info, sample, torch.clone)
            except Exception:  # refused, or no dense tensors
                break
            for place in (elsewhere, apart):
                try:
                    found = computed(info, sample, place)
                except RuntimeError as error:
                    if not any(
                        word in str(error) for word in ("view", "offset", "stride", "contiguous")
                    ):
                        raise
                    continue  # torch takes no such operand
                tried += 1
                for one, other in zip(expected, found):
                    if one.layout is torch.strided and not same(one, other):
                        wrong.add(named(info))
    assert wrong == set()
    assert tried > 1500
