"""Patches that tests put on with the decorator ``unittest.mock.patch``.

The decorator keeps what it replaced in one object for the function, which all ranks call. So each
call gets objects of its own.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import mock

from simmesh.torch.isolation.patches import Patches


def install(patches: Patches) -> None:
    """Lets each rank's call of a decorated function put on, and take off, patches of its own."""
    kind = mock._patch  # type: ignore[attr-defined]
    patches.around_in_ranks(kind, "decoration_helper", _own_patchings)


def _own_patchings(
    of_mock: Any, self: Any, patched: Any, arguments: Any, keywords: Any
) -> Any:  # fmt: skip
    copies = SimpleNamespace(patchings=[each.copy() for each in patched.patchings])
    return of_mock(self, copies, arguments, keywords)
