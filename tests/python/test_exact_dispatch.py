"""The entry of the exact mode in C++: which function runs an operator, and the calls that are left
to Python.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import torch
from simmesh._core.exact import (
    carried,
    enter_operator,
    forget_operator,
    has_form,
    is_entered,
    run_operator,
)
from torch.overrides import TorchFunctionMode

import simmesh
from simmesh.torch.exact import mode, one_device
from simmesh.torch.exact.direct import NAMES, direct_of
from simmesh.torch.exact.mode import ExactMode

ATEN = torch.ops.aten


def samples() -> dict[str, tuple[Any, ...]]:
    """Arguments of each operator that has a direct function, by position."""
    a, b = torch.randn(3, 4), torch.randn(3, 4)
    whole: dict[str, tuple[Any, ...]] = {
        "view": (a, [12]), "t": (a,), "transpose.int": (a, 0, -1), "detach": (a,),
        "permute": (a, [1, 0]), "unsqueeze": (a, 1), "squeeze": (a[:1],), "squeeze.dim": (a[:1], 0),
        "expand": (a[:1], [5, -1]), "select.int": (a, 1, -2), "as_strided": (a, [2, 2], [1, 3], 2),
        "where.self": (a > 0, a, b), "fill_.Scalar": (a.clone(), 2.5),
        "sum.dim_IntList": (a, [1], True), "mean.dim": (a, [0]), "copy_": (a.clone(), b),
    }  # fmt: skip
    for name in NAMES - whole.keys():
        base, _, overload = name.partition(".")
        other = {"Tensor": (b,), "Scalar": (0.5,)}.get(overload, ())
        whole[name] = (a.clone() if base.endswith("_") else a, *other)
    return whole


@pytest.mark.parametrize("name", sorted(NAMES))
def test_direct_function_gives_what_the_operator_gives(name: str) -> None:
    """Would fail if a function took its arguments in another order, or gave another view."""
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(ATEN, packet), overload or "default")
    direct = direct_of(operator)
    assert direct is not None
    arguments = samples()[name]
    expected = operator(*(_copy(each) if packet.endswith("_") else each for each in arguments))
    got = direct(*arguments)
    assert got.dtype is expected.dtype and got.stride() == expected.stride()
    is_made = packet.startswith("empty")
    assert torch.equal(got, expected) or (is_made and got.shape == expected.shape)
    shares = got.untyped_storage()._cdata == arguments[0].untyped_storage()._cdata
    assert shares == (packet.endswith("_") or operator.is_view)


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def test_operators_run_in_the_way_in_which_they_were_entered() -> None:
    """Would fail if a form were asked for another operator, or its other calls were lost."""
    a, b = torch.ones(2), torch.full((2,), 3.0)
    add = ATEN.add.Tensor
    calls: list[Any] = []

    def others(func: Any, args: Any, options: Any) -> str:
        calls.append((func, args, options))
        return "others"

    def program() -> None:
        before = is_entered(add)
        enter_operator(add, "formed", add._op, others, None, "add.Tensor")
        try:
            assert torch.equal(run_operator(add, (a, b), {}), torch.full((2,), 4.0))
            assert run_operator(add, (a, b), {"alpha": 2}) == "others"
            assert calls == [(add, (a, b), {"alpha": 2})]
        finally:
            forget_operator(add)
        assert not is_entered(add) and run_operator(add, (a, b), {}) is None
        a.add(b)
        assert is_entered(add) and before in (True, False)

    one_device(program)
    assert has_form("mm") and not has_form("median")


def test_a_way_or_a_form_that_is_none_is_refused() -> None:
    """Would fail if a wrong name made an operator run as torch's own."""
    add = ATEN.add.Tensor
    with pytest.raises(ValueError, match="expected passed, viewed, written, formed or handled"):
        enter_operator(add, "fast", add)
    for way, form in (("formed", "median"), ("passed", "mm")):
        with pytest.raises(ValueError, match=f"the way is formed, got '{form}'"):
            enter_operator(add, way, add, form=form)


def test_observers_see_operators_that_need_no_python() -> None:
    """Would fail if C++ computed an operator past an observer."""
    seen: list[str] = []

    def observe(func: Any, args: Any, options: Any, result: Any) -> None:
        seen.append(func.name())

    def program() -> None:
        a = torch.ones(2, 2)
        mode.observers.append(observe)
        try:
            (a.t() + a).relu()
        finally:
            mode.observers.remove(observe)
        a.t()

    one_device(program)
    assert seen == ["aten::t", "aten::add.Tensor", "aten::relu"]


def test_modes_of_functions_see_each_call_once() -> None:
    """Would fail if a direct function were seen a second time by a program's own mode."""

    class Counting(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
        ) -> Any:
            if func is torch.relu:
                return func(*args, **(kwargs or {})) + 1
            return func(*args, **(kwargs or {}))

    def program() -> torch.Tensor:
        x = torch.tensor([-1.0, 2.0])
        torch.relu(x)
        with Counting():
            return torch.relu(x)

    assert one_device(program).tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    ("number", "write"),
    [
        (1e-30, lambda x: x.zero_()),
        (0.1, lambda x: x.fill_(float(x))),
        (0.1, lambda x: x.relu_()),
    ],
)
def test_written_operands_carry_nothing(
    number: float, write: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    """Would fail if a write of the same bits kept what stood behind the element before."""

    def program() -> None:
        x = torch.tensor([number]) * torch.tensor([number])
        element = float(x)
        assert Fraction(*carried(x).ratio(0)) != Fraction(element)
        write(x)
        assert float(x) == element and Fraction(*carried(x).ratio(0)) == Fraction(element)

    one_device(program)


def test_errors_of_operators_are_torchs_own() -> None:
    """Would fail if an exception of torch or of a form were lost on the way through C++."""

    def refused(call: Callable[[], object]) -> str:
        with pytest.raises((RuntimeError, ValueError)) as raised:
            call()
        return str(raised.value)

    def program() -> list[str]:
        a, b = torch.ones(2, 3), torch.ones(4, 5)
        return [refused(lambda: a.view(7)), refused(lambda: a @ b), refused(lambda: a + b)]

    expected = ["shape '[7]' is invalid", "", "must match the size"]
    assert all(text in got for text, got in zip(expected, one_device(program)))


def test_python_may_call_the_mode_itself() -> None:
    """Would fail if a mode without its entry in C++ computed nothing."""

    def program() -> float:
        own = ExactMode()
        found = ExactMode.__torch_dispatch__(own, ATEN.add.Tensor, (), (torch.ones(1), 2.0))
        return float(found)

    assert simmesh.spmd_run(program, world_size=1, local="exact").results == [3.0]
