"""Exact values behind operands and results, on their way between a rank's process and its seat.

The process reads the values of operands whenever it copies their elements, and keeps those of
results. The seat has a record for each block of shared memory, as the process has one for each
storage.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simmesh._core.exact import Record
from simmesh.torch.processes.operand_memory import SharedArray

#: The pickled values behind the elements of a tensor; None where these are the values.
Carried = bytes | None


@dataclass(frozen=True)
class CarriedStart:
    """The exact values with which an operation starts: those of each operand, and for each result
    whether its values are kept.
    """

    values: list[Carried]
    keeps: list[bool]


class CarriedOperation:
    """The records of an operation's tensors in the process, as they were when it started."""

    def __init__(
        self, inputs: Sequence[Any], outputs: Sequence[Any], input_records: Sequence[Record | None],
        output_records: Sequence[Record | None],
    ) -> None:  # fmt: skip
        self._inputs = list(zip(inputs, input_records))
        self._outputs = list(zip(outputs, output_records))
        self._told = self._values()

    def start(self) -> CarriedStart:
        """The values now."""
        return CarriedStart(self._told, [record is not None for _, record in self._outputs])

    def changed(self) -> list[Carried] | None:
        """The values of the operands, if they are others than those that were told last."""
        values = self._values()
        if values == self._told:
            return None
        self._told = values
        return values

    def take(self, results: Sequence[Carried]) -> None:
        """Keeps the values of results, whose elements are there already."""
        for (tensor, record), values in zip(self._outputs, results):
            if record is not None:
                _keep(record, tensor, values)

    def _values(self) -> list[Carried]:
        return [_read(record, tensor) for tensor, record in self._inputs]


class BlockRecords:
    """The seat's records for the blocks of shared memory that operations under way use."""

    def __init__(self) -> None:
        self._records: dict[int, Record] = {}
        self._uses: Counter[int] = Counter()
        self._operations: dict[int, tuple[list[SharedArray], list[SharedArray], list[bool]]] = {}

    def start(
        self, number: int, inputs: list[SharedArray], outputs: list[SharedArray],
        carried: CarriedStart,
    ) -> tuple[list[Record | None], list[Record | None]]:  # fmt: skip
        """Returns the records of an operation's operands and of its results."""
        self._operations[number] = inputs, outputs, carried.keeps
        for storage in _storages(inputs, outputs):
            self._uses[storage.number] += 1
            if storage.number not in self._records:
                self._records[storage.number] = Record(storage.size)
        self._update(inputs, carried.values)
        given = [self._record(each) for each in inputs]
        kept = zip(outputs, carried.keeps)
        return given, [self._record(each) if is_kept else None for each, is_kept in kept]

    def update(self, values: dict[int, list[Carried]]) -> None:
        """Takes the values that operands of operations under way have now."""
        for number, each in values.items():
            if number in self._operations:
                self._update(self._operations[number][0], each)

    def end(self, number: int) -> list[Carried]:
        """The values of the results of an operation, which is forgotten."""
        if number not in self._operations:
            return []
        inputs, outputs, keeps = self._operations.pop(number)
        results = [
            _read(self._record(each), each) if is_kept else None
            for each, is_kept in zip(outputs, keeps)
        ]
        for storage in _storages(inputs, outputs):
            self._uses[storage.number] -= 1
            if self._uses[storage.number] == 0:
                del self._uses[storage.number], self._records[storage.number]
        return results

    def _update(self, arrays: list[SharedArray], values: Sequence[Carried]) -> None:
        for array, each in zip(arrays, values):
            record = self._record(array)
            if record is not None:
                _keep(record, array, each)

    def _record(self, array: SharedArray) -> Record | None:
        return None if array.storage is None else self._records[array.storage.number]


def _storages(inputs: list[SharedArray], outputs: list[SharedArray]) -> list[Any]:
    return [each.storage for each in (*inputs, *outputs) if each.storage is not None]


def _holds_floats(dtype: Any) -> bool:
    """True for numbers behind which exact values may stand."""
    return bool(dtype.is_complex or (dtype.is_floating_point and dtype.itemsize > 1))


def _read(record: Record | None, tensor: Any) -> Carried:
    if record is None or not record.nbytes or not _holds_floats(tensor.dtype):
        return None
    values = record.read(tensor)
    return None if values is None else pickle.dumps(values, pickle.HIGHEST_PROTOCOL)


def _keep(record: Record, tensor: Any, values: Carried) -> None:
    if values is not None:
        record.keep(tensor, pickle.loads(values))
    elif record.nbytes:
        record.drop(tensor)
