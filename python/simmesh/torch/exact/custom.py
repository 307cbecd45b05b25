"""Operators that a program defines by ``torch.library.custom_op``: composed of what their Python
function calls.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from simmesh.torch.exact import tables
from simmesh.torch.exact.dispatch import in_mode, is_floating
from simmesh.torch.exact.tables import Entry, Operator

# Methods by which a function takes elements to where no operator is seen.
_LEAVING = (torch.Tensor.numpy, torch.Tensor.__array__, torch.Tensor.data_ptr,
            torch.Tensor.__dlpack__)  # fmt: skip


class LeavesTorch(Exception):
    """An operator gives elements to code that no table knows. The text is the reason."""


class _InTorch(TorchFunctionMode):
    """Refuses to give floating elements to other code than torch's."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _LEAVING and is_floating(args[0]):
            raise LeavesTorch(
                f"its function calls {func.__name__}(), and other code computes on the elements"
            )
        return func(*args, **(kwargs or {}))


@tables.rule
def _custom(operator: Operator) -> Entry | None:
    from torch._library.custom_ops import OPDEFS

    if operator.name().partition(".")[0] in OPDEFS:
        return Entry("composed", "operators of programs", handler=_composed)
    return None


def _composed(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    from torch._library.custom_ops import OPDEFS

    definition = OPDEFS[func.name().partition(".")[0]]
    kernels = definition._backend_fns
    compute = kernels.get("cpu") or kernels.get(None)
    if compute is None:
        return func(*args, **options)  # raises that there is no kernel
    with _InTorch():
        return in_mode(compute, *args, **options)
