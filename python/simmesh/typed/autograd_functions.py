"""Custom autograd functions: which of them the checker may type, and how."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import handle_torch_function
from torch.utils._pytree import tree_flatten, tree_map

from simmesh import _core
from simmesh.typed import state
from simmesh.typed.recorder import current_recorder
from simmesh.typed.refusal import SpmdTypeError

_local: set[type] = set()
_typed: dict[type, Callable[..., Any]] = {}
_original_apply: Any = torch.autograd.Function.__dict__["apply"]


@dataclass(frozen=True)
class Apply:
    """The call of a function's ``apply``, as modes see it."""

    function: type

    @property
    def __name__(self) -> str:
        return f"{self.function.__name__}.apply"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls ``apply``; modes see it."""
        return self.function.apply(*args, **kwargs)  # type: ignore[attr-defined]

    def is_local(self) -> bool:
        """True for a function that computes each rank's results from that rank's operands, and
        types them as an operation that is not linear.
        """
        return self.function in _local

    def typed(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Runs a function that isn't local. Raises SpmdTypeError for one that nobody registered."""
        from simmesh.typed.movement import Conversion

        if self.function is Conversion:
            return self(*args, **kwargs)
        run = _typed.get(self.function)
        if run is not None:
            return run(*args, **kwargs)
        if state.is_strict():
            line = _core.call_site()
            raise SpmdTypeError(
                f"[typed] {line}: {self.__name__}: expected a function that is registered by "
                "register_local_autograd_function, register_autograd_function or "
                f"register_decomposition, got {self.function.__name__}",
                code="unregistered_function", op=self.__name__, line=line,
            )  # fmt: skip
        return self(*args, **kwargs)


def apply(cls: type, *args: Any, **kwargs: Any) -> Any:
    """``torch.autograd.Function.apply``, which modes see where types are checked or recorded."""
    call = _original_apply.__get__(None, cls)
    is_seen = state.checker() is not None or current_recorder() is not None
    if not is_seen or not torch._C._is_torch_function_mode_enabled():
        return call(*args, **kwargs)
    operands = [each for each in tree_flatten(args)[0] if isinstance(each, torch.Tensor)]
    return handle_torch_function(Apply(cls), operands, *args, **kwargs)


def install() -> None:
    """Lets modes see calls of ``apply``, once for the process; without a mode nothing changes."""
    torch.autograd.Function.apply = classmethod(apply)  # type: ignore[assignment]


def register_local_autograd_function(function: type) -> type:
    """Says that a function computes each rank's results from that rank's operands. A decorator."""
    _local.add(function)
    return function


def register_autograd_function(function: type) -> type:
    """Says that a function types itself: its static method ``typecheck_forward`` states types of
    the operands, calls ``apply``, and states types of what it returns. A decorator.
    """
    run = getattr(function, "typecheck_forward", None)
    if not callable(run):
        raise TypeError(
            f"[typed] {function.__name__}: expected a static method typecheck_forward, got none"
        )
    _typed[function] = run
    return function


def register_decomposition(function: type, reference: Callable[..., Any] | None = None) -> Any:
    """Says that a function's results have the types that ``reference`` has with the same operands,
    a function of PyTorch's own operations. Without a reference, a decorator for it.
    """
    if reference is None:
        return lambda chosen: register_decomposition(function, chosen)

    def run(*args: Any, **kwargs: Any) -> Any:
        checker = state.checker()
        assert checker is not None
        given, options = _without_elements(args), _without_elements(kwargs)
        with checker:
            typed = reference(*given, **options)
        result = function.apply(*args, **kwargs)  # type: ignore[attr-defined]
        _copy_types(function.__name__, typed, result)
        return result

    _typed[function] = run
    return reference


def _without_elements(values: Any) -> Any:
    from simmesh.typed.stored import cuts_on, keep, types_on

    def without(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        made = torch.empty_like(value, device="meta", requires_grad=value.requires_grad)
        keep(made, types_on(value), cuts_on(value))
        return made

    return tree_map(without, values)


def _copy_types(name: str, typed: Any, result: Any) -> None:
    from simmesh.typed.stored import cuts_on, keep, types_on

    (sources, source_tree), (targets, target_tree) = tree_flatten(typed), tree_flatten(result)
    if source_tree != target_tree:
        raise SpmdTypeError(
            f"[typed] {name}: expected results like its reference's ({source_tree}), got "
            f"{target_tree}",
            code="decomposition", op=name, line=_core.call_site(),
        )  # fmt: skip
    for source, target in zip(sources, targets):
        if isinstance(source, torch.Tensor) and isinstance(target, torch.Tensor):
            keep(target, types_on(source), cuts_on(source))


install()
