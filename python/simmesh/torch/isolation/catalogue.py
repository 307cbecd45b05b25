"""Which state of torch, Python and the process is swapped, and which functions are replaced in a
run.
"""

from __future__ import annotations

import copy
import logging
import sys
import warnings
from collections.abc import Sequence
from typing import Any, Callable

import torch
import torch._tensor_str
import torch.distributed as dist
import torch.distributed.device_mesh
import torch.distributed.distributed_c10d as c10d
import torch.distributed.fsdp  # what it consists of is watched
import torch.distributed.rendezvous
import torch.distributed.tensor._random
import torch.nn.modules.module
import torch.optim.optimizer  # torch.optim hides it behind another name

from simmesh.torch import (
    async_save,
    checked_groups,
    context_parallel,
    copied_views,
    gloo_groups,
    groups,
    host_stores,
    rank_future,
    reduction,
    store,
)
from simmesh.torch.isolation import (
    clock,
    compilation,
    control_flow,
    entropy,
    entry_points,
    environment,
    locks,
    mocks,
    packages,
    pickles,
    plans,
    process_id,
    process_locks,
    profiler,
    random_state,
    rank_logging,
    sharding_caches,
    threads,
    waiting,
    working_directory,
)
from simmesh.torch.isolation.own_names import OwnNames
from simmesh.torch.isolation.part import Part
from simmesh.torch.isolation.patches import Patches
from simmesh.torch.isolation.rank_logging import HandlerLists
from simmesh.torch.isolation.thread import Switches
from simmesh.torch.isolation.user_attributes import user_attribute
from simmesh.torch.isolation.watched import Watched, functions
from simmesh.torch.isolation.working_directory import WorkingDirectory
from simmesh.torch.world import RankWorld

# Releases of PyTorch have it or not.
try:
    import torch.distributed._dist2 as dist2
except ImportError:
    dist2 = None  # type: ignore[assignment]

#: Modules and classes whose functions programs and tests replace; those that are imported are
#: watched.
_PATCHED = (
    ("torch.distributed", None),
    ("torch.distributed.distributed_c10d", None),
    ("torch.distributed._functional_collectives", None),
    ("torch.distributed.fsdp._fully_shard._fsdp_collectives", None),
    ("torch.distributed.fsdp._fully_shard._fsdp_param", "FSDPParam"),
    ("torch.distributed.fsdp._fully_shard._fsdp_param_group", None),
    ("torch.distributed.fsdp._fully_shard._fsdp_param_group", "FSDPParamGroup"),
    ("torch.distributed.fsdp._fully_shard._fsdp_state", "FSDPState"),
)

_INSTALLED: tuple[Any, ...] = (
    gloo_groups, locks, mocks, process_locks, threads, async_save, context_parallel,
    copied_views, reduction, rank_future, host_stores, clock, waiting, profiler, process_id,
    entropy, entry_points, rank_logging, environment, working_directory, packages, pickles, plans,
    sharding_caches,
)  # fmt: skip
# A rank that is a process has these for itself.
_OF_ONE_PROCESS = (
    mocks, process_locks, profiler, process_id, working_directory, plans, sharding_caches,
)  # fmt: skip


def parts(
    seed: int,
    variables: environment.Environment,
    handlers: HandlerLists,
    isolate: Sequence[str | tuple[Any, str]],
) -> list[Part]:
    """The state that is swapped at a switch. A module imported later starts as on the host."""
    named = [entry for entry in isolate if isinstance(entry, str) and packages.is_package(entry)]
    packages.check(named)
    return [
        packages.begin_run(named),
        _own_names(),
        Switches(),
        WorkingDirectory(),
        variables,
        *random_state.parts(seed),
        handlers,
        *context_parallel.options(),
        *(user_attribute(entry) for entry in isolate if entry not in named),
        _watched(),
    ]


def _own_names() -> OwnNames:
    own = OwnNames()
    own.add(vars(c10d), ["_world"], lambda value: RankWorld())
    own.add(vars(c10d), ["_backend", "_default_pg_init_method"], _copied)
    own.add(vars(sys), ["argv", "excepthook", "path", "stderr", "stdout"], _copied)
    own.add(vars(warnings), ["filters", "showwarning", "_showwarnmsg_impl"], _copied)
    own.add(vars(logging), ["_loggerClass", "_logRecordFactory", "_warnings_showwarning"], _copied)
    own.add(vars(logging), ["lastResort", "raiseExceptions"], _copied)
    own.add(vars(torch._tensor_str), ["PRINT_OPTS"], copy.copy)
    for module in (torch.nn.modules.module, sys.modules["torch.optim.optimizer"]):
        hooks = [name for name in vars(module) if name.startswith("_global_")]
        own.add(vars(module), hooks, _copied)
    own.add(sys.modules, ["__main__"], _copied)
    threads.add_names(own)
    context_parallel.add_names(own)
    async_save.add_names(own)
    own.add(vars(torch.distributed.tensor._random), ["_rng_tracker"], lambda value: None)
    # Contexts such as loss_parallel and implicit_replication write these.
    dispatcher = vars(torch.distributed.tensor.DTensor._op_dispatcher)
    own.add(dispatcher, ["_custom_op_handlers", "_allow_implicit_replication"], _copied)
    return own


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, (dict, list)) else value


def _watched() -> Watched:
    owners = []
    for module, name in _PATCHED:
        if module in sys.modules:
            owner = sys.modules[module] if name is None else getattr(sys.modules[module], name)
            owners.append((owner, functions(owner)))
    return Watched(owners)


def install(patches: Patches, in_one_process: bool = True, compiles: bool = False) -> None:
    """Replaces, for ranks, functions that would block the process or open a file or port; for ranks
    ``in_one_process`` also those that use what a process has one of. Unless a rank ``compiles``,
    what it compiles runs as it is written.
    """
    replacements: list[tuple[str, Callable[..., Any]]] = [
        ("rendezvous", groups.rendezvous),
        ("_new_process_group_helper", groups.new_process_group),
        ("split_group", groups.split_group),
    ]
    namespaces = [c10d, dist, torch.distributed.rendezvous, torch.distributed.device_mesh]
    if dist2 is not None:
        namespaces.append(dist2)
    for namespace in namespaces:
        for name, function in replacements:
            if name in vars(namespace):
                patches.in_ranks(namespace, name, function)
        for name, kind in (("FileStore", store.RankFileStore), ("TCPStore", store.RankTCPStore)):
            if name in vars(namespace):
                patches.replace(namespace, name, kind)
    checked_groups.install(patches)
    groups.install_backends(patches)
    groups.install_names(patches)
    groups.install_coalescing(patches)
    groups.install_timeouts(patches)
    groups.install_logging(patches)
    for module in _INSTALLED:
        if in_one_process or module not in _OF_ONE_PROCESS:
            module.install(patches)
    if not compiles:
        compilation.install(patches)
        control_flow.install(patches)
