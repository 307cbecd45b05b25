"""Handles of operations that torch's C++ code refers to."""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

import torch.distributed as dist

# Fewer than these are not worth a look.
_FEW = 8


class HeldWorks:
    """Keeps works while C++ code may call them, and not longer: a work refers to its tensors.

    Without its Python object, a work that C++ code holds would be one of torch's own class, whose
    wait never ends.
    """

    def __init__(self) -> None:
        self._works: list[Any] = []
        self._next_look = _FEW

    def add(self, work: Any) -> None:
        """Keeps a work that is about to be given to C++ code."""
        if len(self._works) >= self._next_look and _can_count():
            self._works = [each for each in self._works if _references(each) > 1]
            self._next_look = max(_FEW, 2 * len(self._works))
        self._works.append(work)

    def __len__(self) -> int:
        return len(self._works)


def _references(work: Any) -> int:
    """Returns the number of references of C++ code to a work. The Python object has one of them.

    A Python object of pybind11 begins with the address of its C++ object, and that with the address
    of its virtual functions and the number of references.
    """
    pointer = ctypes.sizeof(ctypes.c_void_p)
    address = ctypes.c_void_p.from_address(id(work) + object.__basicsize__).value
    assert address is not None
    return ctypes.c_uint32.from_address(address + pointer).value


@functools.cache
def _can_count() -> bool:
    """True if the references are found in the expected place. If not, all works are kept."""
    if sys.implementation.name != "cpython":
        return False

    class Example(dist.Work):
        pass

    work = Example()
    counts = [_references(work)]
    boxed = work.boxed()
    counts.append(_references(work))
    del boxed
    counts.append(_references(work))
    return counts == [1, 2, 1]
