"""Checkpoints that processes save in the background: those of PyTorch, one for each rank, which
meet over gloo. Checkpoints that threads save need nothing of their own.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.popen_spawn_posix  # a run that imports it has other turns than the next
import os
import pickle
import threading
from multiprocessing import connection
from types import SimpleNamespace
from typing import Any, Callable

import torch.distributed as dist
from torch.distributed.checkpoint import _async_process_executor as of_torch

from simmesh.torch import rank_state
from simmesh.torch.isolation.own_names import OwnNames
from simmesh.torch.isolation.patches import Patches
from simmesh.torch.store import RankStore

_Saver = of_torch._AsyncCheckpointProcess
_LOCALHOST = "127.0.0.1"


def add_names(own: OwnNames) -> None:
    """Gives each rank a saving process of its own."""
    own.add(vars(of_torch), ["_CHECKPOINT_PROCESS"], lambda value: None)


def install(patches: Patches) -> None:
    """Lets ranks wait for their saving processes once all of them can go on. A rank waits with the
    turn, so none may depend on what another rank does later.
    """
    patches.around_in_ranks(of_torch._ProcessGroupInitInfo, "__init__", _agree_on_a_port)
    patches.in_ranks(of_torch, "get_free_port", lambda: 0)
    patches.around_in_ranks(_Saver, "__init__", _start)
    patches.in_ranks(_Saver, "_send", _send)
    patches.around_in_ranks(_Saver, "_wait_for_response", _wait)
    patches.replace(_Saver, "_checkpointing_subprocess", staticmethod(serve))


def end_of_program() -> None:
    """Ends the rank's saving processes, as Python ends daemons."""
    for saver in rank_state.of_rank().savers:
        if "_save_process" in vars(saver):
            if saver._save_process.pid is not None:  # it was started
                saver._save_process.kill()
                saver._save_process.join()
            # The saver may be freed on the host, by a traceback that has kept it.
            saver._save_process = SimpleNamespace(is_alive=lambda: False)


def _agree_on_a_port(init: Callable[..., None], info: Any, process_group: Any = None) -> None:
    """Tells the port by a store, whose values are no data of the run: each run has another one."""
    free_port = of_torch.get_free_port.__wrapped__  # type: ignore[attr-defined]
    init(info, process_group)
    info.simmesh_members = dist.get_process_group_ranks(process_group)
    store = _store(info)
    if info.global_rank == 0:
        store.set("port", str(free_port()))
    info.tcp_store_master_addr = _LOCALHOST
    info.tcp_store_master_port = int(store.get("port"))
    info.use_prefix_store = False


def _store(info: Any) -> RankStore:
    return RankStore(f"async_save of ranks {info.simmesh_members}")


def _start(init: Callable[..., None], saver: Any, pg_init_info: Any) -> None:
    saver.simmesh_info, saver.simmesh_waits = pg_init_info, 0
    rank_state.of_rank().savers.append(saver)
    init(saver, pg_init_info)


def _send(saver: Any, data: Any) -> None:
    """Sends tensors with their bytes: a thread that serves shared memory would be no rank's."""
    saver._process_pipe.send_bytes(pickle.dumps(data))


def _wait(wait: Callable[..., Any], saver: Any, timeout: float | None = None) -> Any:
    """Waits until all ranks are here, and then for the process, whose time is not the run's."""
    saver.simmesh_waits += 1
    store = _store(saver.simmesh_info)
    name = f"wait {saver.simmesh_waits}"
    store.set(f"{name} of {saver.simmesh_info.global_rank}", "")
    store.wait([f"{name} of {rank}" for rank in range(saver.simmesh_info.world_size)])
    return wait(saver)


_serve = _Saver._checkpointing_subprocess


def serve(pg_init_info: Any, parent_conn: Any) -> None:
    """Runs in the saving process, which ends when that of its rank has ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    _serve(pg_init_info, parent_conn)
