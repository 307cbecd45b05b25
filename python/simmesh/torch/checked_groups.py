"""Lets the ranks check that all of them make the same groups and meshes, in one order."""

from __future__ import annotations

import functools
import inspect
import operator
from typing import Any

import torch.distributed.device_mesh
import torch.distributed.distributed_c10d as c10d

from simmesh.torch import rank_state
from simmesh.torch.isolation.patches import Patches


def install(patches: Patches) -> None:
    """Checks the groups and meshes that ranks make. ``split_group`` is checked where it is made."""
    patches.around_in_ranks(c10d, "_new_group_with_tag", _new_group)
    mesh = torch.distributed.device_mesh.DeviceMesh
    patches.around_in_ranks(mesh, "__init__", _init_mesh)


def _new_group(of_torch: Any, *arguments: Any, **options: Any) -> Any:
    named = _arguments(of_torch, arguments, options)
    # A group with a tag is one of functional collectives: each member names its own ranks.
    if not named["use_local_synchronization"] and named["pg_tag"] in (None, ""):
        ranks = named["ranks"]
        if ranks is not None:
            ranks = [operator.index(rank) for rank in ranks]
            ranks = sorted(ranks) if named.get("sort_ranks", True) else ranks
        make_on_default(f"new_group({'' if ranks is None else ranks})")
    return of_torch(*arguments, **options)


def _init_mesh(of_torch: Any, *arguments: Any, **options: Any) -> None:
    of_torch(*arguments, **options)
    if not _arguments(of_torch, arguments, options)["_init_backend"]:
        return
    make_on_default(_words_of(arguments[0]))


# PyTorch derives the ranks of a mesh anew each time, which takes as long as to make a group.
_words: dict[Any, str] = {}
_WORDS_MAX = 64


def _words_of(mesh: Any) -> str:
    key = mesh._layout, tuple(mesh._rank_map.tolist())
    words = _words.get(key)
    if words is None:
        ranks = mesh._layout.remap_to_tensor(mesh._rank_map).tolist()
        words = f"DeviceMesh({ranks[0] if len(ranks) == 1 else ranks})"
        if len(_words) == _WORDS_MAX:
            _words.clear()
        _words[key] = words
    return words


def make_on_default(what: str) -> None:
    """Counts a call that all ranks of the default group must make."""
    state = rank_state.of_rank()
    group = state.groups.get(c10d._get_default_group())
    if group is not None:
        state.shared.joint_calls.make(state.rank, group.members, group.name, what)


# Python binds arguments to a signature in the time of many a call.
@functools.lru_cache(maxsize=16)
def _parameters(function: Any) -> tuple[list[str], dict[str, Any]]:
    """The names of a function's parameters, and the defaults of those that have one."""
    found = inspect.signature(function).parameters
    return list(found), {
        name: each.default for name, each in found.items() if each.default is not each.empty
    }


def _arguments(function: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The arguments of a call by their names; the function itself refuses a call that is wrong."""
    names, defaults = _parameters(function)
    return {**defaults, **dict(zip(names, arguments)), **options}
