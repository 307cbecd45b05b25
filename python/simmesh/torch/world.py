"""One rank's view of the process groups that exist. ``torch.distributed`` keeps them in module
globals.
"""

from __future__ import annotations

import threading
from typing import Any, NoReturn

import torch.distributed.distributed_c10d as c10d

from simmesh import _core


class RankWorld(c10d._World):
    """A ``_World`` with fields of its own, so that each rank can have one."""

    def __init__(self) -> None:
        super().__init__()
        self._pg_map: dict[Any, Any] = {}
        self._pg_names: dict[Any, Any] = {}
        self._pg_group_ranks: dict[Any, dict[int, int]] = {}
        self._pg_backend_config: dict[Any, str] = {}
        self._group_count = 0
        self._tags_to_pg: dict[str, list[Any]] = {}
        self._pg_to_tag: dict[Any, str] = {}

    @property
    def pg_map(self) -> dict[Any, Any]:
        _check_thread()
        return self._pg_map

    @property
    def pg_names(self) -> dict[Any, Any]:
        return self._pg_names

    @property
    def pg_group_ranks(self) -> dict[Any, dict[int, int]]:
        _check_thread()
        return self._pg_group_ranks

    @property
    def pg_backend_config(self) -> dict[Any, str]:
        return self._pg_backend_config

    @property
    def group_count(self) -> int:
        return self._group_count

    @group_count.setter
    def group_count(self, value: int) -> None:
        self._group_count = value

    @property
    def tags_to_pg(self) -> dict[str, list[Any]]:
        return self._tags_to_pg

    @property
    def pg_to_tag(self) -> dict[Any, str]:
        return self._pg_to_tag


def _check_thread() -> None:
    if _core.rank() is None:
        refuse_thread()


def refuse_thread() -> NoReturn:
    """Raises RuntimeError for a thread, or a forked process, that uses groups and is no rank's."""
    # Python would keep an object for a thread that it doesn't know.
    known: dict[int, threading.Thread] = threading._active  # type: ignore[attr-defined]
    thread = known.get(threading.get_ident())
    name = "that Python didn't start" if thread is None else thread.name
    raise RuntimeError(
        "[torch/world] expected the thread of a rank, or one that a rank started by "
        f"threading.Thread, got the thread {name}; a process that a "
        "rank starts can't communicate"
    )
