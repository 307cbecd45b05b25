"""Key-value stores of ranks: FileStore, TCPStore and the stores of rendezvous in a run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from simmesh.torch import rank_state


def _bytes(value: str | bytes | Sequence[int]) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


class RankStore(dist.Store):
    """A store that all ranks of a run share if they name the same ``place``."""

    def __init__(self, place: str = "default") -> None:
        super().__init__()
        state = rank_state.of_rank()
        state.stores.append(self)
        self._place = place
        self._keys = state.shared.keys_of(place)
        self._timeout = timedelta(seconds=300)

    @property
    def timeout(self) -> timedelta:
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        self._timeout = timeout

    def clone(self) -> RankStore:
        return RankStore(self._place)

    def set(self, key: str, value: str | bytes | Sequence[int]) -> None:
        self._keys.set(key, _bytes(value))

    def get(self, key: str) -> bytes:
        return self._keys.get(key)

    def add(self, key: str, value: int) -> int:
        return self._keys.add(key, value)

    def compare_set(
        self, key: str, expected_value: str | bytes, desired_value: str | bytes
    ) -> bytes:
        """Writes if the key has the expected value, or is missing and nothing is expected.
        Returns the value that is there.
        """
        return self._keys.compare_set(key, _bytes(expected_value), _bytes(desired_value))

    def check(self, keys: Sequence[str]) -> bool:
        return self._keys.check(list(keys))

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self._keys.wait(list(keys), timeout)

    def delete_key(self, key: str) -> bool:
        return self._keys.delete_key(key)

    def num_keys(self) -> int:
        return self._keys.num_keys()

    def list_keys(self) -> list[str]:
        return self._keys.list_keys()

    def append(self, key: str, value: str | bytes) -> None:
        self._keys.append(key, _bytes(value))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self._keys.multi_get(list(keys))

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        self._keys.multi_set(list(keys), [_bytes(value) for value in values])

    def has_extended_api(self) -> bool:
        return True

    # torch's C++ stores, such as PrefixStore, call these by their C++ names.
    compareSet = compare_set
    deleteKey = delete_key
    getNumKeys = num_keys
    listKeys = list_keys
    multiGet = multi_get
    multiSet = multi_set
    hasExtendedApi = has_extended_api


class RankFileStore(RankStore):
    """Replaces ``FileStore`` in a rank: nothing is written to the file."""

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__(f"file {file_name}")
        self.path = file_name


class RankTCPStore(RankStore):
    """Replaces ``TCPStore`` in a rank: no port is opened."""

    def __init__(self, host_name: str, port: int, *arguments: Any, **options: Any) -> None:
        super().__init__(f"{host_name}:{port}")
        self.host = host_name
        self.port = port
