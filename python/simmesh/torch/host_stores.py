"""Stores of PyTorch's C++ code that ranks share because the host made them, such as a HashStore.

A wait for a key would keep the turn of the rank that is to write it. So it gives the turn away, and
each use of a store is a point of the schedule.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from simmesh import _core
from simmesh.shared import number_of
from simmesh.torch.isolation import outside
from simmesh.torch.isolation.patches import Patches
from simmesh.torch.store import RankStore

_WRITE = ("set", "add", "append", "compare_set", "delete_key", "multi_set")
_READ = ("check", "num_keys", "list_keys")
_WAIT = ("get", "multi_get")
_PAUSE = 0.001

# The host's: clocks of ranks are the run's, and looks at a key are no points of the schedule, since
# their number depends on the wall's time.
_now, _sleep, _check = time.monotonic, time.sleep, dist.Store.check


def install(patches: Patches) -> None:
    """Lets the turn pass where a rank waits for a key of such a store."""
    for names, function in ((_WRITE, _write), (_READ, _read), (_WAIT, _get)):
        for name in names:
            if hasattr(dist.Store, name):
                patches.around_in_ranks(dist.Store, name, function)
    patches.around_in_ranks(dist.Store, "wait", _wait)


def _is_of_host(store: Any) -> bool:
    while isinstance(store, dist.PrefixStore):
        store = store.underlying_store
    return not isinstance(store, RankStore)


def _number() -> int:
    # One for all of them, since a rank may have another object for the same store.
    return number_of("stores of the host")


def _write(of_torch: Any, store: Any, *arguments: Any, **options: Any) -> Any:
    if _is_of_host(store):
        _core.touch(_number())
    return of_torch(store, *arguments, **options)


def _read(of_torch: Any, store: Any, *arguments: Any, **options: Any) -> Any:
    if _is_of_host(store):
        _core.touch(_number(), "ask")
    return of_torch(store, *arguments, **options)


def _get(of_torch: Any, store: Any, key: str | Sequence[str]) -> Any:
    if _is_of_host(store):
        store.wait([key] if isinstance(key, str) else key)
    return of_torch(store, key)


def _wait(of_torch: Any, store: Any, keys: Sequence[str], timeout: timedelta | None = None) -> None:
    limit = () if timeout is None else (timeout,)
    if not _is_of_host(store):
        of_torch(store, keys, *limit)
        return

    def look(seconds: float | None) -> bool:
        if seconds is None:
            of_torch(store, keys, *limit)
            return True
        if seconds == 0:
            _core.touch(_number(), "ask")
        end = _now() + seconds
        while not (found := _check(store, keys)) and _now() < end:
            _sleep(_PAUSE)
        return bool(found)

    longest = store.timeout if timeout is None else timeout
    if not outside.wait(look, longest.total_seconds()):
        raise dist.DistStoreError(
            f"[torch/host_stores] wait timeout after {longest}, keys: expected {list(keys)} in a "
            f"store that the host made, got none"
        )
