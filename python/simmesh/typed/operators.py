"""PyTorch's functions by the names that the typing rules have for them, and their operands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from simmesh.typed.scalar import Scalar

# Names that differ from those of the rules. A trailing underscore is kept.
_ALIASES = {
    "__add__": "add", "__radd__": "add", "__iadd__": "add_", "__sub__": "sub", "__rsub__": "rsub",
    "__isub__": "sub_", "__mul__": "mul", "__rmul__": "mul", "__imul__": "mul_",
    "__truediv__": "div", "__div__": "div", "__rdiv__": "rdiv", "__rtruediv__": "rdiv",
    "__idiv__": "div_", "__itruediv__": "div_", "__matmul__": "matmul", "__rmatmul__": "matmul",
    "__neg__": "neg", "__pos__": "positive", "subtract": "sub", "subtract_": "sub_",
    "multiply": "mul", "multiply_": "mul_", "divide": "div", "divide_": "div_",
    "true_divide": "div", "true_divide_": "div_", "negative": "neg", "negative_": "neg_",
    "concat": "cat", "concatenate": "cat", "swapdims": "swapaxes", "moveaxis": "movedim",
    "T": "t", "bool": "to", "double": "to", "half": "to", "bfloat16": "to", "gt": "greater",
}  # fmt: skip

# Functions of two operands either of which may be a number.
_BINARY = frozenset({"add", "sub", "mul", "div", "rsub", "rdiv"})

# Properties that are operations of their tensor.
PROPERTIES = frozenset({"T", "mT", "H", "mH", "real", "imag"})

# Functions about a tensor, not of its elements.
PASSING = frozenset({
    "requires_grad_", "retain_grad", "dim", "ndimension", "element_size", "get_device",
    "is_complex", "is_contiguous", "is_floating_point", "is_signed", "nelement", "numel", "size",
    "stride", "storage_offset", "untyped_storage", "data_ptr", "register_hook",
    "register_post_accumulate_grad_hook", "__repr__", "__format__", "__len__", "__hash__",
    "__deepcopy__", "__reduce_ex__", "is_pinned", "is_shared", "is_inference", "type",
    "is_same_size", "has_names", "_is_view", "is_conj", "is_neg",
})  # fmt: skip

# Arguments that name dims, by the operation.
_DIMS: dict[str, Sequence[str]] = {
    "transpose": ("dim0", "dim1"), "swapaxes": ("axis0", "axis1"), "unsqueeze": ("dim",),
    "softmax": ("dim",), "log_softmax": ("dim",), "sum": ("dim",), "mean": ("dim",),
    "amax": ("dim",), "amin": ("dim",), "cat": ("dim",),
}  # fmt: skip


@dataclass
class Operand:
    """An operand of a call: a tensor, a number of Python, or a typed one."""

    value: Any
    is_number: bool = False

    @property
    def needs_gradient(self) -> bool:
        """True for a tensor that requires one."""
        return isinstance(self.value, torch.Tensor) and self.value.requires_grad


@dataclass
class Operation:
    """A call as the rules see it: the name of the operation and its operands, with an operand that
    is written only (``out``) last.

    ``exact_op`` names an operation without the form that lets sums through although the result is
    no sum of results, such as a quotient that is rounded.
    """

    op: str
    operands: list[Operand]
    dims: list[int]
    keeps_dim: bool
    exact_op: str | None = None


def operation(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Operation:
    """The operation that a function of PyTorch is with these arguments."""
    name = name_of(func)
    base, end = (name[:-1], "_") if name.endswith("_") and not name.endswith("__") else (name, "")
    operands = list(_operands(base, args, kwargs))
    dims = _dims(base, args, kwargs)
    exact: str | None = None
    if base in _BINARY:
        base, exact, operands = _of_two(base, operands, kwargs)
    elif base in ("sum", "mean"):
        base, exact = _reduction(base, dims, kwargs)
    elif base == "repeat_interleave" and len(operands) == 2:
        base = "repeat_interleave_tensor"
    elif base == "swapaxes":
        base = "transpose"
    elif base == "view" and any(
        isinstance(each, torch.dtype) for each in (*args, *kwargs.values())
    ):
        base, exact = "view_dtype", "view_as_bits"  # the bits of a sum aren't the sum of bits
    elif base in ("index_select", "gather") and len(operands) > 1 and _is_sum(operands[1]):
        exact = f"{base}_by_sum"
    elif base == "pow" and sum(not each.is_number for each in operands) == 2:
        base = "pow_tensor"
    out = kwargs.get("out")
    if out is not None:
        written = [each for each in tree_flatten(out)[0] if isinstance(each, torch.Tensor)]
        operands += [Operand(each) for each in written[:1]]
        end = "_out"
    return Operation(base + end, operands, dims, _keeps_dim(base, args, kwargs),
                     None if exact is None else exact + end)  # fmt: skip


def name_of(func: Any) -> str:
    """The name that the rules have for a function."""
    name = str(getattr(func, "__name__", type(func).__name__))
    if name == "__get__":
        name = str(getattr(func.__self__, "__name__", name))
    plain = name.strip("_") if name.startswith("__") else name
    return _ALIASES.get(name, plain)


def _operands(base: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[Operand]:
    """Tensors in the order of the call, numbers where the operation takes either, and typed
    numbers anywhere.
    """
    for at, value in enumerate(args):
        yield from _in(value, base in _BINARY and at < 2)
    for key, value in kwargs.items():
        if key != "out":
            yield from _in(value, base in _BINARY and key in ("input", "other"))


def _in(value: Any, counts_numbers: bool) -> Iterator[Operand]:
    for leaf in [value] if isinstance(value, torch.Tensor) else tree_flatten(value)[0]:
        if isinstance(leaf, torch.Tensor):
            yield Operand(leaf)
        elif isinstance(leaf, Scalar) or (counts_numbers and _is_number(leaf)):
            yield Operand(leaf, True)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex)) and not isinstance(value, bool)


def _of_two(
    base: str, operands: list[Operand], kwargs: Mapping[str, Any]
) -> tuple[str, str | None, list[Operand]]:
    """The form of a function of two operands: "add_scalar" with a number after the tensor,
    "scalar_add" with one before.
    """
    if base in ("rsub", "rdiv"):
        base, operands = base[1:], operands[1::-1] + operands[2:]
    plain = [each.is_number for each in operands[:2]]
    form = base
    if plain == [False, True]:
        form = f"{base}_scalar"
    elif plain == [True, False]:
        form = f"scalar_{base}"
    if base == "div" and kwargs.get("rounding_mode") is not None:
        return f"{form}_floor", "floor_divide", operands
    if base == "div" and plain == [False, False] and "other" in kwargs:
        return "div_other_keyword", "div", operands
    return form, None, operands


def _reduction(base: str, dims: list[int], kwargs: Mapping[str, Any]) -> tuple[str, str | None]:
    dtype = kwargs.get("dtype")
    form = f"{base}_dim" if dims else base
    rounds = dtype is not None and not (dtype.is_floating_point or dtype.is_complex)
    return form, f"{base}_of_rounded" if rounds else None


def _is_sum(operand: Operand) -> bool:
    from simmesh.typed.stored import types_on

    return "P" in (types_on(operand.value) or {}).values()


def _keeps_dim(base: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    is_reduction = base in ("sum_dim", "mean_dim", "amax", "amin")
    return bool(kwargs.get("keepdim", is_reduction and len(args) > 2 and args[2] is True))


def _dims(base: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[int]:
    found: list[int] = []
    for at, key in enumerate(_DIMS.get(base, ())):
        value = kwargs.get(key, args[at + 1] if at + 1 < len(args) else None)
        if isinstance(value, bool) or value is None:
            continue
        found += [each for each in ([value] if isinstance(value, int) else list(value))
                  if isinstance(each, int)]  # fmt: skip
    if base == "cat" and not found:
        found = [0]
    return found


def results_of(result: Any) -> list[torch.Tensor]:
    """The tensors that a call returned."""
    if isinstance(result, torch.Tensor):
        return [result]
    if result is None or isinstance(result, (bool, int, float, str)):
        return []
    return [each for each in tree_flatten(result)[0] if isinstance(each, torch.Tensor)]
