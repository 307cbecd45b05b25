"""The types of plain tensors: R, I, V, P and S(d)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union

from simmesh import _core


@dataclass(frozen=True)
class SpmdType:
    """A type on one mesh axis: what the ranks along the axis hold.

    ``letter`` is R (replicate), I (invariant), V (varying) or P (partial). A shard is varying, and
    its pieces along ``dim`` make the tensor.
    """

    letter: str
    dim: int | None = None

    @property
    def dual(self) -> SpmdType:
        """The type of the gradient: R and P swap, all others stay."""
        return type_of_text(_core.typed.dual(self.letter)) if self.dim is None else self

    def on(self, dims: int) -> SpmdType:
        """The same type with a dim of at least 0, for a tensor of so many dims."""
        if self.dim is None or self.dim >= 0:
            return self
        return S(self.dim + dims)

    def __repr__(self) -> str:
        return self.letter if self.dim is None else f"S({self.dim})"


#: The same value, used differently on each rank; the gradient is a part of a sum.
R = SpmdType("R")
#: The same value, of one computation that all ranks do alike; so is the gradient.
I = SpmdType("I")  # noqa: E741
#: Different values.
V = SpmdType("V")
#: The terms of a sum that is not done yet; the gradient is replicated.
P = SpmdType("P")

_LETTERS = {"R": R, "I": I, "V": V, "P": P}


def S(dim: int) -> SpmdType:
    """Varying, and the pieces along the axis make the tensor, one after the other along ``dim``."""
    return SpmdType("V", dim)


class PartitionSpec(tuple):  # type: ignore[type-arg]
    """The mesh axes that cut each dim of a tensor: None, an axis, or a tuple of axes, outermost
    first.

    PartitionSpec("dp", None) cuts rows along dp.
    """

    __slots__ = ()

    def __new__(cls, *entries: Any) -> PartitionSpec:
        """Makes one of an entry for each dim."""
        return super().__new__(cls, entries)

    def __getnewargs__(self) -> tuple[Any, ...]:
        """The entries, with which copies and pickles are made."""
        return tuple(self)

    def __repr__(self) -> str:
        return f"PartitionSpec({', '.join(map(repr, self))})"


AnyType = Union[SpmdType, str, Any]


def type_of_text(text: str) -> SpmdType:
    """The type that is written so: "R", "S(0)". Raises ValueError for another text."""
    if text in _LETTERS:
        return _LETTERS[text]
    if text.startswith("S(") and text.endswith(")"):
        number = text[2:-1]
        if number.lstrip("-").isdigit():
            return S(int(number))
    raise ValueError(f"[typed] expected R, I, V, P or S(d), got {text!r}")


def as_type(value: AnyType) -> SpmdType:
    """A type, its text, or a type of the package spmd_types, as a type."""
    if isinstance(value, SpmdType):
        return value
    if isinstance(value, str):
        return type_of_text(value)
    name = getattr(value, "name", None)
    if type(value).__module__.startswith("spmd_types"):
        return S(value.dim) if hasattr(value, "dim") else type_of_text(str(name)[0])
    raise TypeError(f"[typed] expected a type, such as R or S(0), got {value!r}")
