"""Sample calls of operators that no sample of PyTorch reaches: arguments made after the schema.

A schema doesn't say which shapes fit together, so several forms of arguments are tried, and those
are kept with which the operator runs.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from simmesh.rules.pytorch.propagation import Call
from simmesh.rules.pytorch.samples import prepared

Op = Any  # torch._ops.OpOverload

_DTYPES = (torch.float64, torch.int64, torch.bool)
_FURTHER_DTYPES = (torch.float64, torch.float32, torch.int64, torch.bool)
_SHAPES: tuple[tuple[int, ...], ...] = ((5, 3), (4, 2), (3,), (1, 3), (0, 3))
# Even and uneven pieces of tensors that have to be squares, images and volumes.
_FURTHER_SHAPES: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((5, 3), (4, 2)), ((5, 5), (4, 4)), ((2, 5, 6, 5), (2, 4, 4, 4)),
)  # fmt: skip
_LIST = 2


@dataclass(frozen=True)
class _Form:
    """Arguments of one kind.

    ``others`` is the shape of tensors after the first one: "same", "scalar", "list" with an
    element for each tensor of a list, or "transposed". ``steps`` makes the last list of tensors
    one of scalars. ``ints`` are the integers. ``gives_optional`` has tensors and numbers in the
    places of optional ones, and True in those of booleans.
    """

    others: str = "same"
    lists_differ: bool = True
    steps: bool = False
    ints: int = 0
    gives_optional: bool = False


def _further_forms() -> Iterator[_Form]:
    for others, steps, ints, gives in itertools.product(
        ("same", "scalar", "list", "transposed"), (False, True), (0, 1), (False, True)
    ):
        yield _Form(others, False, steps, ints, gives)


def _tensor(shape: Iterable[int], dtype: torch.dtype) -> Tensor:
    if dtype == torch.bool:
        return torch.randint(0, 2, list(shape)).bool()
    if not dtype.is_floating_point:
        return torch.randint(-9, 10, list(shape))
    return torch.randn(list(shape), dtype=dtype)


class _Maker:
    """Makes the arguments of one call."""

    def __init__(self, op: Op, form: _Form, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        self._form, self._shape, self._dtype = form, shape, dtype
        self._arguments = op._schema.arguments
        lists = [each.name for each in self._arguments if str(each.type) == "List[Tensor]"]
        self._steps = lists[-1] if form.steps and lists else ""
        self._first = True

    def call(self, op: Op) -> Call:
        """Returns a call. Raises ValueError for an argument of which nothing is known."""
        args, kwargs = [], {}
        for argument in self._arguments:
            if argument.kwarg_only and argument.has_default_value():
                continue
            value = self._value(argument)
            if argument.kwarg_only:
                kwargs[argument.name] = value
            else:
                args.append(value)
        return prepared(Call(op, tuple(args), kwargs))

    def _value(self, argument: Any) -> Any:
        kind = str(argument.type)
        if self._form.gives_optional and kind.startswith("Optional["):
            kind = kind.removeprefix("Optional[").removesuffix("]")
        elif argument.has_default_value():
            return argument.default_value
        if kind == "Tensor":
            return self._of_tensor()
        if kind == "List[Tensor]":
            return self._of_list(argument.name)
        if kind == "List[Optional[Tensor]]":
            return [torch.tensor([0, 2, 1])]
        if kind.startswith("Optional"):
            return None
        count = getattr(argument, "N", None) or 1
        simple = {
            "number": 2, "float": 0.5, "int": self._form.ints, "str": "none",
            "bool": self._form.gives_optional,
            "List[number]": [2, 3], "List[float]": [0.5, 0.25],
            "List[int]": [self._form.ints] * count, "List[bool]": [True] * count,
        }  # fmt: skip
        if kind not in simple:
            raise ValueError(f"no value for {kind}")
        return simple[kind]

    def _of_tensor(self) -> Tensor:
        is_first, self._first = self._first, False
        shapes = {"scalar": (), "list": (_LIST,), "transposed": self._shape[::-1]}
        shape = self._shape if is_first else shapes.get(self._form.others, self._shape)
        return _tensor(shape, self._dtype)

    def _of_list(self, name: str) -> list[Tensor]:
        is_first, self._first = self._first, False
        if name == self._steps:
            return [torch.ones(()) for _ in range(_LIST)]  # as optimizers count their steps
        if self._form.lists_differ:
            return [_tensor(self._shape, self._dtype), _tensor((2, *self._shape[1:]), self._dtype)]
        is_turned = self._form.others == "transposed" and not is_first
        shape = self._shape[::-1] if is_turned else self._shape
        return [_tensor(shape, self._dtype) for _ in range(_LIST)]


def _runs(op: Op, form: _Form, shape: tuple[int, ...], dtype: torch.dtype) -> Call | None:
    torch.manual_seed(0)
    with contextlib.suppress(Exception):
        call = _Maker(op, form, shape, dtype).call(op)
        again = prepared(call)
        op(*again.args, **again.kwargs)
        if call.tensors:
            return call
    return None


def made_calls(op: Op) -> list[Call]:
    """Calls with arguments made after the operator's schema, where the operator takes them."""
    found: list[Call] = []
    for dtype in _DTYPES:
        # Other dtypes have the rules of the first one, which gets all shapes.
        shapes = _SHAPES[:1] if found else _SHAPES
        calls = [_runs(op, _Form(), shape, dtype) for shape in shapes]
        found += [call for call in calls if call is not None]
    if found:
        return found
    for dtype, shapes, form in itertools.product(
        _FURTHER_DTYPES, _FURTHER_SHAPES, _further_forms()
    ):
        calls = [_runs(op, form, shape, dtype) for shape in shapes]
        found = [call for call in calls if call is not None]
        if found:
            return found
    return []
