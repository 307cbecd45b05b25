"""The random generators that a process has one of: torch's, Python's and numpy's."""

from __future__ import annotations

import ctypes
import functools
import random
import sys
from typing import Any

import torch

# The state of random's and numpy's Mersenne twister: an index and 624 words of 32 bits.
_STATE_BYTES = 625 * 4

# First states, which take longer to make than a small run.
_fresh_numpy: dict[tuple[int, int, bool], Any] = {}


class TorchGenerator:
    """torch's generator for the CPU. Every rank starts with the seed, as every process starts with
    the same one.
    """

    def __init__(self, seed: int) -> None:
        self._fresh = torch.Generator().manual_seed(seed).get_state()
        self.save = torch.default_generator.get_state
        self.load = torch.default_generator.set_state

    def fresh(self, rank: int) -> torch.Tensor:
        return self._fresh


class PythonGenerator:
    """The generator of the functions of the module ``random``. Each rank starts with a seed of
    its own.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._generator: Any = random._inst  # type: ignore[attr-defined]
        self._memory = _memory_of_process(self._generator)

    def fresh(self, rank: int) -> Any:
        return _fresh_python(self._seed, rank)

    def save(self) -> Any:
        if self._memory is None:
            return self._generator.getstate()
        return self._memory.raw, self._generator.gauss_next

    def load(self, state: Any) -> None:
        if self._memory is None:
            self._generator.setstate(state)
        else:
            self._memory.raw, self._generator.gauss_next = state


@functools.lru_cache(maxsize=1024)
def _fresh_python(seed: int, rank: int) -> Any:
    generator: Any = random.Random(f"{seed}/{rank}")
    memory = _python_memory(generator)
    return generator.getstate() if memory is None else (memory.raw, generator.gauss_next)


def _python_memory(generator: random.Random) -> Any:
    # getstate makes a tuple of 625 integers, which takes longer than all the rest of a switch.
    if sys.implementation.name != "cpython":
        return None
    memory = (ctypes.c_char * _STATE_BYTES).from_address(id(generator) + object.__basicsize__)
    words = memoryview(memory.raw).cast("I")
    state = generator.getstate()[1]
    return memory if tuple(words) == (state[-1], *state[:-1]) else None


# The process's generator stays where it is, and to check that takes as long as much of a run.
_memory_of_process = functools.lru_cache(maxsize=1)(_python_memory)


class NumpyGenerator:
    """numpy's global generator, if the program has imported numpy. Each rank starts with a seed of
    its own.

    A state is its words and, if the generator keeps a normal number for its next call, numpy's long
    form, which takes 60 times as long to get and set.
    """

    def __init__(self, seed: int) -> None:
        import numpy

        self._numpy = numpy
        self._seed = seed
        self._generator = numpy.random.mtrand._rand
        bits = self._generator._bit_generator
        self._memory: Any = _numpy_memory(bits) if isinstance(bits, numpy.random.MT19937) else None
        self._loaded: tuple[bytes | None, Any] = (None, None)

    def fresh(self, rank: int) -> tuple[bytes | None, Any]:
        key = (self._seed, rank, self._memory is None)
        if key not in _fresh_numpy:
            generator = self._numpy.random.RandomState([self._seed % 2**32, rank])
            _fresh_numpy[key] = self._state_of(generator)
        return _fresh_numpy[key]

    def save(self) -> tuple[bytes | None, Any]:
        words, long = self._loaded
        if words is None or long is not None or self._memory.raw != words:
            self._loaded = self._state_of(self._generator)
        return self._loaded

    def load(self, state: tuple[bytes | None, Any]) -> None:
        words, long = state
        if words is None or long is not None or self._loaded[1] is not None:
            full = self._generator.get_state(legacy=False) if long is None else long
            if long is None:
                full["has_gauss"], full["gauss"] = 0, 0.0
            self._generator.set_state(full)
        if words is not None:
            self._memory.raw = words
        self._loaded = state

    def _state_of(self, generator: Any) -> tuple[bytes | None, Any]:
        long = generator.get_state(legacy=False)
        if self._memory is None:
            return None, long
        return _numpy_memory(generator._bit_generator).raw, long if long["has_gauss"] else None


def _numpy_memory(bits: Any) -> Any:
    return (ctypes.c_char * _STATE_BYTES).from_address(bits.ctypes.state_address)


def parts(seed: int) -> list[Any]:
    """The generators of the modules that are imported."""
    found: list[Any] = [TorchGenerator(seed), PythonGenerator(seed)]
    if "numpy" in sys.modules:
        found.append(NumpyGenerator(seed))
    return found
