"""Regions that are checked in another way: local, local_map and no_typecheck."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_map

from simmesh import _core
from simmesh.typed import state
from simmesh.typed.annotations import assert_type
from simmesh.typed.kinds import PartitionSpec
from simmesh.typed.refusal import SpmdTypeError


class _Infer:
    def __repr__(self) -> str:
        return "Infer"


#: The operands of a local_map keep the types that they have.
Infer = _Infer()


@contextmanager
def local() -> Iterator[None]:
    """Checks all that runs inside locally: cuts aren't followed. Does nothing without checking."""
    if not state.is_type_checking():
        yield
        return
    with state.typecheck(local=True):
        yield


def no_typecheck(**types: Any) -> Any:
    """Leaves all that runs inside unchecked.

    with no_typecheck(): ...

    With ``out_types``, and ``in_types`` if wanted, a decorator: the operands and results of the
    function have these types.
    """
    if not types:
        return state.paused()
    if "out_types" not in types or set(types) - {"in_types", "out_types"}:
        raise TypeError(f"[typed] no_typecheck: expected out_types, got {', '.join(types)}")
    return _boundary("no_typecheck", state.paused, types.get("in_types", Infer), types["out_types"])


def local_map(*, in_types: Any = Infer, out_types: Any) -> Callable[..., Any]:
    """A decorator: the function runs in local checking, between stated types.

    @local_map(out_types={"tp": S(0)})
    def attention(q, k, v): ...

    ``in_types`` and ``out_types`` mirror the operands and the results. Each leaf is a mapping of
    axes to types, a PartitionSpec, a pair of the two, or None for what is no tensor.
    """
    return _boundary("local_map", local, in_types, out_types)


def _boundary(
    name: str, body: Callable[[], AbstractContextManager[None]], in_types: Any, out_types: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        where = f"{name} of {getattr(function, '__qualname__', function)}"

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            if not state.is_type_checking():
                return function(*args, **kwargs)
            if in_types is not Infer:
                _state_types(where, "operand", args, in_types)
            with body():
                result = function(*args, **kwargs)
            _state_types(where, "result", result, out_types)
            return result

        return run

    return decorate


def _state_types(where: str, what: str, values: Any, types: Any) -> None:
    def one(value: Any, given: Any) -> Any:
        is_tensor = isinstance(value, torch.Tensor)
        if given is Infer:
            raise _mismatch(where, "expected types for each leaf, got Infer")
        if is_tensor != (given is not None):
            got = "a tensor" if is_tensor else type(value).__name__
            raise _mismatch(where, f"expected a {what} with types {given!r}, got {got}")
        if isinstance(given, PartitionSpec):
            assert_type(value, {}, given)
        elif isinstance(given, tuple):
            assert_type(value, *given)
        elif given is not None:
            assert_type(value, given)
        return value

    try:
        tree_map(one, values, types)
    except ValueError as error:
        if "[typed]" in str(error):
            raise
        raise _mismatch(where, f"expected {what}s like their types, got {error}") from None


def _mismatch(where: str, text: str) -> SpmdTypeError:
    line = _core.call_site()
    return SpmdTypeError(f"[typed] {line}: {where}: {text}", code="boundary", op=where, line=line)
