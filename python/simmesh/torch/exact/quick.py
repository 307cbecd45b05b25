"""The calls that programs make most, each in one call of C++ beside torch's own.

A form makes the function that runs an operator out of torch's own function and of the one that
computes all of its calls, to which it leaves those that it doesn't compute.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

from simmesh._core.exact import (
    add_into,
    add_product_into,
    added,
    divide_into,
    drop,
    mean_into,
    move_behind,
    multiplied,
    multiplied_matrices,
    multiply_into,
    sum_into,
)
from simmesh.torch.exact.companions import scope
from simmesh.torch.exact.dispatch import is_floating, is_leaf, is_wide
from simmesh.torch.exact.tables import Handler, Operator

Args = tuple[Any, ...]
Options = dict[str, Any]
Form = Callable[[Callable[..., Any], Handler], Handler]


def _linear(make: Callable[..., Any], compute: Callable[..., bool], *more: Any) -> Form:
    """A new result. Where torch makes it, its elements are written over."""

    def form(torchs: Callable[..., Any], others: Handler) -> Handler:
        def run(func: Operator, args: Args, options: Options) -> Any:
            if options or len(args) > 2 or scope.steps:
                return others(func, args, options)
            if (made := make(*args, *more)) is not None:
                return made
            result = torchs(*args)
            if compute(result, *args, *more):
                return result
            return others(func, args, options)

        return run

    return form


def _in_place(compute: Callable[..., bool], *more: Any) -> Form:
    """A result that is written into the first operand."""

    def form(torchs: Callable[..., Any], others: Handler) -> Handler:
        def run(func: Operator, args: Args, options: Options) -> Any:
            target = args[0]
            if scope.steps and compute is not divide_into and is_wide(target):
                torchs(*args, **options)
                drop(target)
                return target
            if scope.steps or options or len(args) > 2 or not compute(target, *args, *more):
                return others(func, args, options)
            if is_leaf(target):
                drop(target)
            return target

        return run

    return form


def _of_result(compute: Callable[..., bool]) -> Form:
    """A result that torch makes, and whose elements are written over."""

    def form(torchs: Callable[..., Any], others: Handler) -> Handler:
        def run(func: Operator, args: Args, options: Options) -> Any:
            if options or scope.steps:
                return others(func, args, options)
            result = torchs(*args)
            return result if compute(result, *args) else others(func, args, options)

        return run

    return form


def _product(torchs: Callable[..., Any], others: Handler) -> Handler:
    def run(func: Operator, args: Args, options: Options) -> Any:
        if not options and not scope.steps and (made := multiplied_matrices(*args)) is not None:
            return made
        return others(func, args, options)

    return run


def _copied(torchs: Callable[..., Any], others: Handler) -> Handler:
    def run(func: Operator, args: Args, options: Options) -> Any:
        result, source = torchs(*args, **options), args[0]
        if move_behind(result, source):
            return result
        is_whole = isinstance(source, torch.Tensor) and not is_floating(source)
        return result if is_whole else others(func, args, options)

    return run


def _copy(torchs: Callable[..., Any], others: Handler) -> Handler:
    def run(func: Operator, args: Args, options: Options) -> Any:
        target, source = args[0], args[1]
        is_alike = source.dtype is target.dtype and source.shape == target.shape
        if not is_alike or not is_floating(target) or target.data_ptr() == source.data_ptr():
            return others(func, args, options)
        torchs(*args, **options)
        if not move_behind(target, source):
            return others(func, args, options)
        if is_leaf(target):
            drop(target)
        return target

    return run


#: By the names of the table.
FORMS: dict[str, Form] = {
    "add.Tensor": _linear(added, add_into),
    "add.Scalar": _linear(added, add_into),
    "sub.Tensor": _linear(added, add_into, -1.0),
    "mul.Tensor": _linear(multiplied, multiply_into),
    "mul.Scalar": _linear(multiplied, multiply_into),
    "neg": _linear(multiplied, multiply_into, -1.0),
    "div.Tensor": _of_result(divide_into),
    "div.Scalar": _of_result(divide_into),
    "add_.Tensor": _in_place(add_into),
    "add_.Scalar": _in_place(add_into),
    "sub_.Tensor": _in_place(add_into, -1.0),
    "mul_.Tensor": _in_place(multiply_into),
    "mul_.Scalar": _in_place(multiply_into),
    "div_.Tensor": _in_place(divide_into),
    "div_.Scalar": _in_place(divide_into),
    "mm": _product,
    "bmm": _product,
    "addmm": _of_result(add_product_into),
    "sum": _of_result(sum_into),
    "sum.dim_IntList": _of_result(sum_into),
    "mean": _of_result(mean_into),
    "mean.dim": _of_result(mean_into),
    "clone": _copied,
    "_to_copy": _copied,
    "copy_": _copy,
}
