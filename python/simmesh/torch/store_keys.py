"""The keys of a store: what the ranks that name one place share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Callable

import torch.distributed as dist

from simmesh import _core
from simmesh.shared import number_of


class StoreKeys:
    """The keys and values of one place, and the seats that wait for some of them.

    Every operation is a point of the schedule. Waiting gives the turn away; it ends by a timeout of
    virtual time only if the caller names one, otherwise the report of a deadlock names the missing
    keys.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._values: dict[str, bytes] = {}
        self._object = number_of(f"store {place}")
        self._waiters: set[int] = set()

    def set(self, key: str, value: bytes) -> None:
        _core.touch(self._object)
        self._write(key, value)

    def get(self, key: str) -> bytes:
        self.wait([key], None)
        return self._values[key]

    def add(self, key: str, value: int) -> int:
        _core.touch(self._object)
        total = int(self._values.get(key, b"0")) + value
        self._write(key, str(total).encode())
        return total

    def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        """Writes if the key has the expected value, or is missing and nothing is expected.
        Returns the value that is there.
        """
        _core.touch(self._object)
        found = self._values.get(key)
        if found == expected or (found is None and not expected):
            self._write(key, desired)
            return desired
        return expected if found is None else found

    def check(self, keys: Sequence[str]) -> bool:
        _core.touch(self._object, "ask")
        return all(key in self._values for key in keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None) -> None:
        _core.touch(self._object, "ask")
        self._wait_until(
            lambda: all(key in self._values for key in keys),
            lambda: f"for {[key for key in keys if key not in self._values]}",
            timeout,
        )

    def delete_key(self, key: str) -> bool:
        _core.touch(self._object)
        return self._values.pop(key, None) is not None

    def num_keys(self) -> int:
        _core.touch(self._object, "ask")
        return len(self._values)

    def list_keys(self) -> list[str]:
        _core.touch(self._object, "ask")
        return list(self._values)

    def append(self, key: str, value: bytes) -> None:
        _core.touch(self._object)
        self._write(key, self._values.get(key, b"") + value)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        self.wait(keys, None)
        return [self._values[key] for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[bytes]) -> None:
        _core.touch(self._object)
        for key, value in zip(keys, values):
            self._write(key, value)

    def _write(self, key: str, value: bytes) -> None:
        self._values[key] = value
        for seat in sorted(self._waiters):
            _core.unpark(seat)

    def _wait_until(
        self, ready: Callable[[], bool], what: Callable[[], str], timeout: timedelta | None
    ) -> None:
        seat = _core.seat()
        assert seat is not None
        end = None if timeout is None else _core.virtual_time() + timeout.total_seconds()
        while not ready():
            left = None if end is None else max(0.0, end - _core.virtual_time())
            self._waiters.add(seat)
            try:
                woken = _core.park(
                    "store wait",
                    f"{what()} in {self._place}",
                    timeout=left,
                    object=self._object,
                    access="ask",
                )
            finally:
                self._waiters.discard(seat)
            if not woken and not ready():
                raise dist.DistStoreError(
                    f"[torch/store] wait timeout after {timeout}, keys: expected them in "
                    f"{self._place}, got none "
                    f"{what()}"
                )
