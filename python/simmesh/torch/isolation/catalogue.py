"""Which state of torch, Python and the process is swapped, and which functions are replaced in a
run.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, Callable, Sequence

import torch
import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d
import torch.distributed.rendezvous
import torch.nn.modules.module
import torch.optim.optimizer  # noqa: F401  (torch.optim hides it behind another name)

from simmesh.torch import groups, reduction, store
from simmesh.torch.isolation import clock, plans, process_id, profiler, random_state
from simmesh.torch.isolation.attributes import (
    Environment,
    ModuleAttributes,
    Patched,
    user_attribute,
)
from simmesh.torch.isolation.part import Part
from simmesh.torch.isolation.patches import Patches
from simmesh.torch.isolation.thread import Switches
from simmesh.torch.world import RankWorld

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


def _same(value: Any, rank: int) -> Any:
    return value


def _copied(value: Any, rank: int) -> Any:
    return value.copy() if isinstance(value, (dict, list)) else value


def parts(
    seed: int, environment: Environment, isolate: Sequence[str | tuple[Any, str]]
) -> list[Part]:
    """The state that is swapped at a switch. What a run imports later starts as the host has it.

    Functions come last: attributes that are written to the same namespace don't count as changes
    then.
    """
    hooks = vars(torch.nn.modules.module)
    optimizer = vars(sys.modules["torch.optim.optimizer"])
    found: list[Part] = [
        ModuleAttributes(vars(c10d), ["_world"], lambda value, rank: RankWorld()),
        ModuleAttributes(vars(c10d), ["_backend", "_default_pg_init_method"], _same),
        ModuleAttributes(hooks, [name for name in hooks if name.startswith("_global_")], _copied),
        ModuleAttributes(optimizer, [n for n in optimizer if n.startswith("_global_")], _copied),
        ModuleAttributes(vars(sys), ["excepthook", "stdout", "stderr"], _same),
        ModuleAttributes(vars(warnings), ["filters"], _copied),
        ModuleAttributes(vars(warnings), ["showwarning", "_showwarnmsg_impl"], _same),
        Switches(),
        environment,
        *random_state.parts(seed),
        *(user_attribute(entry) for entry in isolate),
    ]
    tracker = sys.modules.get("torch.distributed.tensor._random")
    if tracker is not None:
        found.append(ModuleAttributes(vars(tracker), ["_rng_tracker"], lambda value, rank: None))
    for module, name in _PATCHED:
        if module in sys.modules:
            owner = sys.modules[module]
            found.append(Patched(owner if name is None else getattr(owner, name)))
    return found


def install(patches: Patches) -> None:
    """Replaces, for ranks, what would block the process or open a file or port."""
    replacements: list[tuple[str, Callable[..., Any]]] = [
        ("rendezvous", groups.rendezvous),
        ("_new_process_group_helper", groups.new_process_group),
        ("split_group", groups.split_group),
    ]
    namespaces = [c10d, dist, torch.distributed.rendezvous]
    if "torch.distributed.device_mesh" in sys.modules:
        namespaces.append(sys.modules["torch.distributed.device_mesh"])
    for namespace in namespaces:
        for name, function in replacements:
            if name in vars(namespace):
                patches.in_ranks(namespace, name, function)
        for name, kind in (("FileStore", store.RankFileStore), ("TCPStore", store.RankTCPStore)):
            if name in vars(namespace):
                patches.replace(namespace, name, kind)
    groups.install_coalescing(patches)
    groups.install_logging(patches)
    reduction.install(patches)
    clock.install(patches)
    profiler.install(patches)
    process_id.install(patches)
    plans.install(patches)
