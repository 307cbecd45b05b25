"""Process groups of ranks: ordinary ProcessGroups whose backend is torch's fake one.

Programs hold torch's own class, so everything that asks a group for its type, name, size or backend
works as it does in a process of its own; the kernels of simmesh replace the fake backend's.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

import torch
import torch.distributed as dist
import torch.distributed.c10d_logger as c10d_logger
import torch.distributed.distributed_c10d as c10d
import torch.testing._internal.distributed.fake_pg  # registers the fake backend
from torch._C._distributed_c10d import FakeProcessGroup
from torch.nn.parallel import DistributedDataParallel

from simmesh.torch import rank_state
from simmesh.torch.isolation import packages
from simmesh.torch.isolation.patches import Patches
from simmesh.torch.rank_state import Group, RankState
from simmesh.torch.store import RankStore
from simmesh.torch.work import RankWork
from simmesh.torch.world import refuse_thread

# Groups whose backend computes nothing, so that only the rank that made one may use it.
_made: weakref.WeakSet[Any] = weakref.WeakSet()


def group_of(boxed: Any) -> Group | None:
    """Returns the group of a process group in an operator's arguments; None if no rank made it.

    Raises RuntimeError on a thread that isn't that of the rank which made it.
    """
    state = rank_state.current()
    process_group = dist.ProcessGroup.unbox(boxed)
    group = None if state is None else state.groups.get(process_group)
    if group is None and process_group in _made:
        if state is None:
            refuse_thread()
        name = process_group.group_name
        raise RuntimeError(
            f"[torch/groups] rank {state.rank}: expected a group that this rank made, got another "
            f"rank's group {name}; "
            "where a package keeps it, name the package under isolate (--isolate PACKAGE)"
        )
    return group


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, **options: Any
) -> Iterator[tuple[RankStore, int, int]]:
    """Replaces ``torch.distributed.rendezvous`` in a rank: no file or port is opened."""
    state = rank_state.of_rank()
    parts = urlparse(url)
    query = parse_qs(parts.query)
    if rank < 0:
        rank = int(query.get("rank", [os.environ.get("RANK", state.rank)])[0])
    if world_size < 0:
        world_size = int(
            query.get("world_size", [os.environ.get("WORLD_SIZE", state.shared.ranks)])[0]
        )
    place = "" if parts.scheme == "env" else f"{parts.scheme}://{parts.netloc}{parts.path}"
    yield RankStore(place), rank, world_size


def new_process_group(
    group_size: int,
    group_rank: int | None,
    global_ranks_in_group: list[int],
    backend: str,
    store: Any,
    group_name: str,
    backend_options: Any = None,
    timeout: timedelta | None = None,
    pg_tag: str | None = None,
    device_id: torch.device | None = None,
    group_desc: str | None = None,
    **options: Any,
) -> tuple[Any, Any]:
    """Replaces ``_new_process_group_helper`` in a rank.

    ``global_ranks_in_group`` is empty for the default group. Returns the group and its store, or
    ``GroupMember.NON_GROUP_MEMBER`` and None. Groups of the fake backend are PyTorch's own: a rank
    makes them alone, for a world of any size, and their calls exchange nothing. Those of a backend
    that the program itself registered are the program's.
    """
    if _is_of_program(backend):
        return c10d._new_process_group_helper.__wrapped__(  # type: ignore[attr-defined]
            group_size, group_rank, global_ranks_in_group, backend, store, group_name,
            backend_options=backend_options, timeout=timeout, pg_tag=pg_tag, device_id=device_id,
            group_desc=group_desc, **options,
        )  # fmt: skip
    state = rank_state.of_rank()
    world = c10d._world
    if group_name in world.pg_names.values():
        raise ValueError(
            "[torch/groups] The specified group name has already been created: expected a new "
            f"one, got {group_name}"
        )
    c10d._check_valid_timeout(timeout)
    if pg_tag not in (None, ""):
        existing = c10d._find_pg_by_ranks_and_tag(pg_tag, global_ranks_in_group)
        if existing:
            return existing, world.pg_map[existing][1]
    if global_ranks_in_group:
        parent = state.groups.get(c10d._get_default_group())
        if parent is None:
            raise ValueError(
                f"[torch/groups] {group_name}: expected the backend of the default group, whose "
                f"ranks aren't those of the run, got {backend}"
            )
        if parent.rank not in global_ranks_in_group:
            return c10d.GroupMember.NON_GROUP_MEMBER, None
        members = [parent.members[rank] for rank in global_ranks_in_group]
    else:
        if group_size < 0 or group_rank is None or group_rank < 0:  # MPI lets nobody say it
            group_size, group_rank = state.shared.ranks, state.rank
        members = _default_members(state, group_size, group_rank, store)
    config = _backend_config(backend)
    name = _cpu_backend(config)
    process_group = _make(state, members, store, group_name, group_desc, name)
    if device_id is not None and device_id.index is not None:
        process_group.bound_device_id = device_id
    prefix_store = dist.PrefixStore(f"{group_name}/", store)
    _register(process_group, backend, str(config), prefix_store, group_name, pg_tag)
    return process_group, prefix_store


def split_group(
    parent_pg: Any = None,
    split_ranks: list[list[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
    **options: Any,
) -> Any:
    """Replaces ``split_group`` in a rank: it needs no device, and no backend that can split."""
    state = rank_state.of_rank()
    if not split_ranks:
        raise ValueError(f"[torch/groups] split_ranks: expected lists of ranks, got {split_ranks}")
    parent_pg = parent_pg or c10d._get_default_group()
    if parent_pg not in c10d._world.pg_group_ranks:
        raise ValueError(f"[torch/groups] expected a group that is registered, got {parent_pg}")
    if parent_pg not in state.groups:
        return c10d.split_group.__wrapped__(
            parent_pg, split_ranks, timeout, pg_options, group_desc, backend=backend, **options
        )
    parent = state.groups[parent_pg]
    for ranks in split_ranks:
        if not ranks or len(set(ranks)) != len(ranks) or len(ranks) > parent.size:
            raise ValueError(
                f"[torch/groups] split_ranks: expected between 1 and {parent.size} different "
                f"ranks, got {ranks}"
            )
    what = f"split_group({[list(ranks) for ranks in split_ranks]})"
    state.shared.joint_calls.make(state.rank, parent.members, parent.name, what)
    mine = next((list(ranks) for ranks in split_ranks if parent.rank in ranks), None)
    group_name = c10d._process_group_name(mine or list(split_ranks[0]), use_hashed_name=True)
    if mine is None:
        return None
    parent_backend, store = c10d._world.pg_map[parent_pg]
    members = [parent.members[rank] for rank in mine]
    backend = c10d.Backend(str(backend or parent_backend))
    config = _backend_config(backend)
    child = _make(state, members, store, group_name, group_desc, _cpu_backend(config))
    if parent_pg.bound_device_id is not None:
        child.bound_device_id = parent_pg.bound_device_id
    prefix_store = dist.PrefixStore(f"{group_name}/", store)
    _register(child, backend, str(config), prefix_store, group_name, None)
    to_default = {
        group: default for default, group in c10d._world.pg_group_ranks[parent_pg].items()
    }
    c10d._world.pg_group_ranks[child] = {to_default[rank]: index for index, rank in enumerate(mine)}
    return child


def make_unregistered(store: Any, rank: int, size: int, name: str) -> Any:
    """A group of gloo that torch.distributed doesn't know, as a program makes one by a class."""
    state = rank_state.of_rank()
    return _make(state, _default_members(state, size, rank, store), store, name, None, "gloo")


def share_group(register: Any, process_group: Any, made: Any) -> None:
    """Lets ``process_group``, which a program made itself, be the group of ``made`` as well."""
    state = rank_state.of_rank()
    group = state.groups.get(made)
    if group is None:
        raise RuntimeError(
            f"[torch/groups] rank {state.rank}: _register_backend: expected a backend, or a group "
            f"that this rank made, got {made}"
        )
    kind = dist.ProcessGroup.BackendType.CUSTOM
    process_group._set_default_backend(kind)
    register(process_group, torch.device("cpu"), kind, made._get_backend(torch.device("cpu")))
    state.groups[process_group] = group
    _made.add(process_group)


def _default_members(state: RankState, size: int, rank: int, store: Any) -> list[int]:
    # Every rank of the run in its order is the usual case and needs no exchange.
    if size == state.shared.ranks and rank == state.rank:
        return list(range(size))
    if size > state.shared.ranks:
        raise ValueError(
            f"[torch/groups] world_size: expected at most the {state.shared.ranks} ranks of the "
            f"run, got {size}"
        )
    store.set(f"member/{rank}", str(state.rank))
    return [int(store.get(f"member/{other}")) for other in range(size)]


def _make(
    state: RankState,
    members: list[int],
    store: Any,
    name: str,
    description: str | None,
    backend: str,
) -> Any:
    rank = members.index(state.rank)
    process_group = dist.ProcessGroup(store, rank, len(members))
    # Where torch's C++ code meets a known kind, it casts the backend to that kind's class.
    kind = dist.ProcessGroup.BackendType.CUSTOM
    process_group._set_default_backend(kind)
    fake = FakeProcessGroup._create_internal(rank, len(members))
    process_group._register_backend(torch.device("cpu"), kind, fake)
    process_group._set_group_name(name)
    process_group._set_group_desc("undefined" if description is None else description)
    state.make_group(process_group, members, name, backend)
    _made.add(process_group)
    return process_group


def _is_of_program(backend: str) -> bool:
    own = rank_state.of_rank().backends
    # It takes PyTorch long to read a configuration, and most name no such backend.
    if backend != c10d.Backend.UNDEFINED and not any(name in str(backend).lower() for name in own):
        return False
    config = c10d.BackendConfig(c10d.Backend(backend))
    return own.issuperset(config.get_device_backend_map().values())


def _cpu_backend(config: c10d.BackendConfig) -> str:
    backends = config.get_device_backend_map()
    return str(backends.get("cpu") or next(iter(backends.values())))


def _backend_config(backend: str) -> c10d.BackendConfig:
    """Returns the backend of each kind of device. Raises torch's error for an unknown one."""
    config = c10d.BackendConfig(c10d.Backend(backend))
    for name in config.get_device_backend_map().values():
        if name not in c10d.Backend.backend_list:
            raise AssertionError(
                f"[torch/groups] Unknown backend type {name}: expected one of "
                f"{', '.join(c10d.Backend.backend_list)}, or one that is registered"
            )
    return config


def _register(
    process_group: Any, backend: str, config: str, store: Any, name: str, tag: str | None
) -> None:
    plain = tag in (None, "")
    c10d._register_pg_in_world(
        process_group,
        backend_name=backend,
        store=store,
        group_name=name,
        backend_config=config,
        pg_tag=None if plain else f"user:{tag}",
        add_to_default_tag=plain,
    )


def install_logging(patches: Patches) -> None:
    """Lets DDP's logging data name the backend that the program asked for, with gloo's settings,
    and calls fail with their own error under the name of NCCL.
    """
    patches.around_in_ranks(DistributedDataParallel, "_get_ddp_logging_data", _logging_data)
    patches.around_in_ranks(c10d_logger, "_get_msg_dict", _message)


def _logging_data(data_of_torch: Any, module: Any) -> Any:
    data = data_of_torch(module)
    # A program's own class of groups names its backend itself.
    if module.process_group in c10d._world.pg_map:
        data = {**data, "backend_name": dist.get_backend(module.process_group)}
    if data["backend_name"] == "gloo":
        for name in ("gloo_socket_ifname", "gloo_device_transport"):
            data[name] = os.environ.get(name.upper(), "N/A")
        data["gloo_num_threads"] = 2
    return data


# The log of a call that failed has the version of NCCL, which a build of torch for CPUs may lack.
def _message(message_of_torch: Any, function: str, *arguments: Any, **options: Any) -> Any:
    try:
        return message_of_torch(function, *arguments, **options)
    except AttributeError:
        return {"func_name": function}


def install_backends(patches: Patches) -> None:
    """Notes which backends the programs of ranks register. Those of packages that a rank imports
    aren't its own, nor those of PyTorch: simmesh stands in for them.
    """
    patches.around_in_ranks(c10d.Backend, "register_backend", _register_backend)


def _register_backend(
    of_torch: Any, name: str, func: Any, *arguments: Any, **options: Any
) -> None:  # fmt: skip
    of_torch(name, func, *arguments, **options)
    of_pytorch = str(getattr(func, "__module__", "")).startswith("torch.")
    if not of_pytorch and not packages.is_importing():
        rank_state.of_rank().backends.add(name.lower())


def install_names(patches: Patches) -> None:
    """Lets a rank's group have the name of the backend that the program asked for."""
    for name in ("name", "_get_backend_name"):
        patches.around_in_ranks(dist.ProcessGroup, name, _name)


def _name(of_torch: Any, process_group: Any) -> str:
    group = _own_group(process_group)
    return str(of_torch(process_group)) if group is None else group.backend


def install_timeouts(patches: Patches) -> None:
    """Lets a program set the timeout of a rank's group, which is one of the run's time."""
    patches.around_in_ranks(dist.ProcessGroup, "set_timeout", _set_timeout)


def _set_timeout(of_torch: Any, process_group: Any, timeout: timedelta) -> None:
    group = _own_group(process_group)
    if group is None:
        of_torch(process_group, timeout)
    else:
        group.timeout = timeout.total_seconds()


def install_coalescing(patches: Patches) -> None:
    """Lets the operations between ``_start_coalescing`` and ``_end_coalescing`` of a rank's group
    be one Work.
    """
    patches.around_in_ranks(dist.ProcessGroup, "_start_coalescing", _start_coalescing)
    patches.around_in_ranks(dist.ProcessGroup, "_end_coalescing", _end_coalescing)


def _own_group(process_group: Any) -> Group | None:
    return rank_state.of_rank().groups.get(process_group)


def _start_coalescing(of_torch: Any, process_group: Any, device: Any) -> None:
    group = _own_group(process_group)
    if group is None:
        of_torch(process_group, device)
    else:
        group.coalesced = []


def _end_coalescing(of_torch: Any, process_group: Any, device: Any) -> Any:
    group = _own_group(process_group)
    if group is None:
        return of_torch(process_group, device)
    works, group.coalesced = group.coalesced or [], None
    operations = [operation for work in works for operation in work.operations]
    joined = RankWork(operations, [tensor for work in works for tensor in work.results])
    rank_state.of_rank().keep(group, joined)
    return joined
