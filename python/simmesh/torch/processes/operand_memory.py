"""The memory that a rank's process shares with its seat: operands and results of operations.

The engine reads operands when the last member has come, and writes results at that moment. So the
process copies the operands of all operations under way into the shared memory whenever it gives
its turn away, and copies the results of those that completed when the turn comes back: a program
that writes to a buffer too early sees the bits that it sees on a thread.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

#: Bytes of address space for each rank. Pages are taken as they are used.
RESERVED = 1 << 38
_MAP_NORESERVE = 0x4000
_ALIGNMENT = 64

_copy = ctypes.memmove


def shared_map(size: int = RESERVED) -> mmap.mmap:
    """Memory without a name, which processes share that are forked later."""
    return mmap.mmap(-1, size, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | _MAP_NORESERVE)


def address_of(memory: mmap.mmap) -> int:
    """The address of a map, which is the same in processes that are forked later."""
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


@dataclass(frozen=True)
class SharedStorage:
    """The shared memory of one storage, with what the core asks of a storage. Each use of the
    memory has another number.
    """

    number: int
    address: int
    size: int

    @property
    def _cdata(self) -> int:
        return self.address

    def data_ptr(self) -> int:
        return self.address


@dataclass(frozen=True)
class SharedArray:
    """A tensor's elements in shared memory, with what the core asks of a tensor.

    ``storage`` is there for elements behind which exact values may stand.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any
    storage: SharedStorage | None = None

    def data_ptr(self) -> int:
        return self.address

    def stride(self) -> tuple[int, ...]:
        return self.strides

    def untyped_storage(self) -> SharedStorage | None:
        return self.storage


@dataclass
class _Block:
    """The shared memory of one storage, and the number of operations under way that use it."""

    storage: SharedStorage
    uses: int = 0


class CarriedTensors(Protocol):
    """The exact values behind the tensors of an operation."""

    def changed(self) -> list[bytes | None] | None: ...

    def take(self, results: Sequence[bytes | None]) -> None: ...


@dataclass
class _Operation:
    """An operation under way: where its operands and results lie in both memories."""

    inputs: list[tuple[int, int, int]]
    outputs: list[tuple[int, int, int]]
    storages: list[int]
    tensors: Sequence[Any]
    carried: CarriedTensors | None = None
    has_started: bool = False


class OperandMemory:
    """The process's view of the memory.

    All tensors of a storage lie in one block, as far from each other as in the storage: so
    operations whose tensors overlap see each other's results.
    """

    def __init__(self, address: int, size: int = RESERVED) -> None:
        self._next = address + _ALIGNMENT - address % _ALIGNMENT
        self._end = address + size
        self._free: dict[int, list[int]] = {}
        self._blocks: dict[int, _Block] = {}
        self._operations: dict[int, _Operation] = {}
        self._count = 0
        self._uses = 0

    def add(
        self, inputs: Sequence[Any], outputs: Sequence[Any], carried: CarriedTensors | None = None
    ) -> tuple[int, list[SharedArray], list[SharedArray]]:
        """Finds the places of an operation's tensors, and copies its operands there. Returns the
        number of the operation, which is under way from now on.
        """
        operation = _Operation([], [], [], [*inputs, *outputs], carried)
        given = [self._place(tensor, operation, operation.inputs) for tensor in inputs]
        taken = [self._place(tensor, operation, operation.outputs) for tensor in outputs]
        for own, shared, size in operation.inputs:
            _copy(shared, own, size)
        self._count += 1
        self._operations[self._count] = operation
        return self._count, given, taken

    def started(self, number: int) -> None:
        """Says that the start of an operation has returned. Before that it may complete while
        another thread of the rank has the turn, and its results be told later.
        """
        operation = self._operations.get(number)
        if operation is not None:
            operation.has_started = True

    def has_operations(self) -> bool:
        """True if an operation is under way."""
        return bool(self._operations)

    def drop(self, number: int) -> None:
        """Forgets an operation that could not start."""
        operation = self._operations.pop(number, None)
        if operation is not None:
            self._release(operation)

    def give(self) -> dict[int, list[bytes | None]]:
        """Copies the operands of all operations under way, as they are now. Returns the exact
        values that changed, by the number of the operation.
        """
        values = {}
        for number, operation in self._operations.items():
            if not operation.has_started:
                continue
            for own, shared, size in operation.inputs:
                _copy(shared, own, size)
            changed = None if operation.carried is None else operation.carried.changed()
            if changed is not None:
                values[number] = changed
        return values

    def take(self, completed: Sequence[tuple[int, Sequence[bytes | None]]]) -> None:
        """Copies the results of operations that completed, and takes their exact values."""
        for number, results in completed:
            operation = self._operations.pop(number, None)
            if operation is not None:
                for own, shared, size in operation.outputs:
                    _copy(own, shared, size)
                if operation.carried is not None:
                    operation.carried.take(results)
                self._release(operation)

    def _place(
        self, tensor: Any, operation: _Operation, parts: list[tuple[int, int, int]]
    ) -> SharedArray:
        shape, strides = tuple(tensor.shape), tuple(tensor.stride())
        if not tensor.numel():
            return SharedArray(0, shape, strides, tensor.dtype)
        storage = tensor.untyped_storage()
        begin = storage.data_ptr()
        block = self._blocks.get(begin)
        if block is None:
            size = _size_class(storage.nbytes())
            self._uses += 1
            block = _Block(SharedStorage(self._uses, self._allocate(size), size))
            self._blocks[begin] = block
        block.uses += 1
        operation.storages.append(begin)
        own = tensor.data_ptr()
        shared = block.storage.address + own - begin
        if tensor.is_contiguous():
            parts.append((own, shared, tensor.numel() * tensor.element_size()))
        else:
            for offset, size in _runs(shape, strides, tensor.element_size()):
                parts.append((own + offset, shared + offset, size))
        used = None if operation.carried is None else block.storage
        return SharedArray(shared, shape, strides, tensor.dtype, used)

    def _allocate(self, size: int) -> int:
        free = self._free.get(size)
        if free:
            return free.pop()
        address, self._next = self._next, self._next + size
        if self._next > self._end:
            raise MemoryError(
                f"[torch/processes] expected at most {RESERVED} bytes of operands of a rank at a "
                f"time, got {size} more"
            )
        return address

    def _release(self, operation: _Operation) -> None:
        for begin in operation.storages:
            block = self._blocks[begin]
            block.uses -= 1
            if block.uses == 0:
                memory = block.storage
                self._free.setdefault(memory.size, []).append(memory.address)
                del self._blocks[begin]


def _size_class(size: int) -> int:
    return max(_ALIGNMENT, 1 << (size - 1).bit_length())


def _runs(
    shape: Sequence[int], strides: Sequence[int], element_size: int
) -> Iterator[tuple[int, int]]:
    """The pieces of a tensor without gaps: the offset and size of each, in bytes."""
    if not shape:
        yield 0, element_size
    elif len(shape) == 1 and strides[0] == 1:
        yield 0, shape[0] * element_size
    else:
        for index in range(shape[0]):
            begin = index * strides[0] * element_size
            for offset, size in _runs(shape[1:], strides[1:], element_size):
                yield begin + offset, size
