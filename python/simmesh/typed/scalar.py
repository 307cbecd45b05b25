"""Numbers of Python with types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.utils._pytree import tree_map


class Scalar:
    """A number that ranks may hold different values of, with its types by axis.

    x * Scalar(dist.get_rank(), {"dp": V})
    """

    def __init__(self, value: Any, types: Mapping[Any, Any] | Any) -> None:
        from simmesh.typed import stored

        self.value = value
        given = stored.stated(types, 0)
        if any(each.dim is not None for each in given.values()):
            raise ValueError("[typed] Scalar: expected R, I, V or P, got a shard")
        stored.keep(self, {axis: each.letter for axis, each in given.items()})

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Calls a function of PyTorch with the number itself."""
        return func(*unwrapped(args), **unwrapped(kwargs or {}))

    def __repr__(self) -> str:
        return f"Scalar({self.value!r})"


def unwrapped(values: Any) -> Any:
    """Arguments with numbers for typed numbers."""
    return tree_map(lambda each: each.value if isinstance(each, Scalar) else each, values)
