"""The call of a function whose rule is judged: tensors, other arguments, a mesh or a group."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from simmesh.rules.argument_sizes import RuleSizes, given_sizes
from simmesh.rules.sizes import RuleInput, input_of

# Parameters that get the mesh on which a rule is judged, or its group.
_MESHES = ("mesh", "device_mesh")
_GROUPS = ("group", "process_group", "pg", "tp_group", "cp_group", "ep_group", "dp_group")

_BY_POSITION = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)

_current = threading.local()


@dataclass(frozen=True)
class RuleArgument:
    """An argument that is no tensor, among the inputs of a function: ``RuleArgument(-1)``.

    None, booleans, floats and dtypes need no such mark, nor do numbers in the place of a number in
    the schema of an operator.
    """

    value: Any


@dataclass(frozen=True)
class Applied:
    """The apply of an autograd function. It is looked up at each call, since spmd_types replaces
    it while it checks types.
    """

    owner: Any

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.owner.apply(*arguments, **keywords)


def applied(function: Any) -> Any:
    """An autograd function, or its apply, as ``Applied``; anything else as it is."""
    owner = function
    if getattr(function, "__name__", "") == "apply":
        owner = getattr(function, "__self__", function)
    is_function = isinstance(owner, type) and hasattr(owner, "apply") and hasattr(owner, "backward")
    return Applied(owner) if is_function else function


@dataclass(frozen=True)
class _Slot:
    """An argument: the tensor of that place, a value, sizes, the mesh or its group."""

    kind: str
    at: int = 0
    value: Any = None


def rule_mesh() -> Any:
    """The mesh of the ranks on which ``rulecheck`` runs a function; its dims are those of the rule.

    Raises RuntimeError outside of such a run.
    """
    mesh = getattr(_current, "mesh", None)
    if mesh is None:
        raise RuntimeError(
            "[rules] rule_mesh: expected a function that rulecheck runs on ranks, got a call "
            "outside of one"
        )
    return mesh


class on_mesh:
    """Gives functions a mesh, and its group if it has one dim, as a context of this thread."""

    def __init__(self, mesh: Any) -> None:
        self._mesh = mesh

    def __enter__(self) -> None:
        self._before = getattr(_current, "mesh", None)
        _current.mesh = self._mesh

    def __exit__(self, *_: object) -> None:
        _current.mesh = self._before


@dataclass(frozen=True)
class Call:
    """A function as one of tensors alone: the other arguments are filled in."""

    function: Callable[..., Any]
    slots: tuple[_Slot, ...]
    named: tuple[tuple[str, _Slot], ...] = ()

    @property
    def takes_ranks(self) -> bool:
        """True if the function gets a mesh or a group."""
        return any(slot.kind in ("mesh", "group") for slot in self._all)

    @property
    def takes_group(self) -> bool:
        """True if the function gets a group and no mesh."""
        kinds = {slot.kind for slot in self._all}
        return "group" in kinds and "mesh" not in kinds

    @property
    def takes_sizes(self) -> bool:
        """True if the function gets sizes of its outputs."""
        return any(slot.kind == "sizes" for slot in self.slots)

    @property
    def is_tensor(self) -> list[bool]:
        """For each argument by position, True if it is a tensor."""
        return [slot.kind == "tensor" for slot in self.slots]

    @property
    def _all(self) -> list[_Slot]:
        return [*self.slots, *(slot for _, slot in self.named)]

    def __call__(self, *tensors: Any) -> Any:
        return self.function(*self.arguments(tensors), **self.keywords())

    def arguments(self, tensors: Sequence[Any]) -> list[Any]:
        """The arguments by position, with these in the places of tensors."""
        return [_filled(slot, tensors) for slot in self.slots]

    def keywords(self) -> dict[str, Any]:
        """The arguments by name."""
        return {name: _filled(slot, ()) for name, slot in self.named}


def _filled(slot: _Slot, tensors: Sequence[Any]) -> Any:
    if slot.kind == "tensor":
        return tensors[slot.at]
    if slot.kind == "sizes":
        return given_sizes(slot.value)
    if slot.kind == "mesh":
        return rule_mesh()
    if slot.kind == "group":
        mesh = rule_mesh()
        if mesh.ndim > 1:
            raise TypeError(
                "[rules] expected a function with an argument named mesh for a rule of several "
                "mesh dims, got one that takes a group"
            )
        return mesh.get_group()
    return slot.value


def call_of(function: Callable[..., Any], inputs: Sequence[Any]) -> tuple[Call, list[RuleInput]]:
    """Reads the arguments of a function: its tensors, and what stands in the other places.

    A parameter named mesh or group, which no input stands for, gets the mesh or its group.
    """
    parameters = _parameters(function)
    by_position = [name for name, each in parameters.items() if each.kind in _BY_POSITION]
    ours = sum(bool(_special(name)) for name in by_position)
    # Inputs may have None in the places of a mesh and a group, or leave them out.
    names_ours = len(inputs) > len(by_position) - ours
    tensors: list[RuleInput] = []
    slots: list[_Slot] = []
    given = list(inputs)
    for name in by_position:
        if _special(name):
            slots.append(_Slot(_special(name)))
            if names_ours and given:
                given.pop(0)
        elif given:
            slots.append(_slot(given.pop(0), tensors, _is_tensor_of_schema(function, name)))
        else:
            break
    slots += [_slot(entry, tensors, None) for entry in given]
    named = tuple(
        (name, _Slot(_special(name)))
        for name in parameters
        if _special(name) and name not in by_position[: len(slots)]
    )
    _expect_letters(slots, tensors)
    if any(isinstance(dim, str) for each in tensors for dim in each.dims):
        return Call(function, tuple(slots), named), tensors
    # Where no input has letters, dims of equal size vary together.
    numbered = [
        each if each.is_fixed else RuleInput([f"size {dim}" for dim in each.dims], each.values)
        for each in tensors
    ]
    return Call(function, tuple(slots), named), numbered


def _expect_letters(slots: Sequence[_Slot], tensors: Sequence[RuleInput]) -> None:
    known = {dim for each in tensors for dim in each.dims if isinstance(dim, str)}
    for slot in slots:
        if slot.kind == "sizes" and not slot.value.letters <= known:
            raise ValueError(
                f"[rules] sizes {list(slot.value.dims)}: expected letters of the inputs, got "
                f"{', '.join(sorted(slot.value.letters - known))}"
            )


def _special(name: str) -> str:
    return "mesh" if name in _MESHES else "group" if name in _GROUPS else ""


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    schema = getattr(function, "_schema", None)
    if schema is not None:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return {
            each.name: inspect.Parameter(each.name, kind)
            for each in schema.arguments
            if not each.kwarg_only
        }
    if isinstance(function, Applied):
        found = dict(inspect.signature(function.owner.forward).parameters)
        if _has_context(function.owner):
            found.pop(next(iter(found)), None)
        return found
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


def _has_context(owner: type) -> bool:
    """True if an autograd function's forward takes the context."""
    for base in owner.__mro__:
        if "setup_context" in vars(base):
            return base.__module__ == "torch.autograd.function"
    return True


def _is_tensor_of_schema(function: Callable[..., Any], name: str) -> bool | None:
    """True for a tensor in an operator's schema, False for another argument; None without one."""
    schema = getattr(function, "_schema", None)
    for each in schema.arguments if schema is not None else ():
        if each.name == name:
            return "Tensor" in str(each.type)
    return None


def _slot(entry: Any, tensors: list[RuleInput], is_tensor: bool | None) -> _Slot:
    if isinstance(entry, RuleArgument):
        return _Slot("value", value=entry.value)
    if isinstance(entry, RuleSizes):
        return _Slot("sizes", value=entry)
    if is_tensor is False and isinstance(entry, (list, tuple)) and str in map(type, entry):
        return _Slot("sizes", value=RuleSizes(entry))
    is_plain = entry is None or isinstance(entry, (bool, float, complex))
    is_plain = is_plain or (type(entry).__module__ == "torch" and not hasattr(entry, "shape"))
    if is_tensor is False or (is_plain and not isinstance(entry, RuleInput)):
        return _Slot("value", value=entry)
    tensors.append(input_of(entry, len(tensors)))
    return _Slot("tensor", len(tensors) - 1)


def unwrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function within a partial."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def name_of(function: Any) -> str:
    """The name of a function in a verdict."""
    function = unwrapped(function)
    if isinstance(function, Applied):
        return str(function.owner.__name__)
    if hasattr(function, "_schema"):
        return str(function)
    return str(getattr(function, "__name__", type(function).__name__))
