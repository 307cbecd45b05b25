"""Types that a program states by the package spmd_types, and its use on ranks."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist

from simmesh.typed.recorder import StatedType, current_recorder


def types_by_spmd_types(tensor: torch.Tensor) -> tuple[StatedType, ...]:
    """The types of a tensor; none where the program doesn't use the package."""
    from simmesh.typed.axes import _members

    spmd = sys.modules.get("spmd_types")
    types = {} if spmd is None else spmd.get_local_type(tensor)
    if spmd is None or not types:
        return ()
    cuts: dict[Any, tuple[int, int]] = {}
    for dim, entry in enumerate(spmd.get_partition_spec(tensor) or ()):
        axes = entry if isinstance(entry, tuple) else () if entry is None else (entry,)
        for depth, each in enumerate(axes):
            cuts[spmd.normalize_axis(each)] = (dim, depth)
    names = {each: name for name, each in (spmd.current_mesh_names() or {}).items()}
    found = []
    for axis, kind in types.items():
        ranks = _members(dist.get_rank(), sorted(axis.layout.all_ranks_from_zero()))
        if len(ranks) == 1:
            continue
        letter = str(kind.name)[0]
        name = names.get(axis, f"ranks {list(ranks)}")
        cut = cuts.get(axis) if letter == "V" else None
        place = () if cut is None else cut
        found.append(StatedType(name, ranks, letter, *place))
    return tuple(sorted(found, key=lambda each: each.axis))


@contextlib.contextmanager
def observed_package() -> Iterator[None]:
    """Lets spmd_types, if it is installed, tell the recorder of a rank what a program states, and
    lets it check on ranks that are threads: what it replaces in PyTorch is replaced once.
    """
    try:
        import spmd_types._backward_hooks as hooks
        import spmd_types._vmap as vmap
        from spmd_types import _checker, runtime
    except ImportError:
        yield
        return
    every = [
        (_checker, "_install_autograd_apply_patch", "_remove_autograd_apply_patch"),
        (vmap, "install", "uninstall"),
        (hooks, "install", "uninstall"),
    ]
    installers = [(each, *names) for each, *names in every if hasattr(each, names[0])]
    kept = [(module, name, getattr(module, name)) for module, *names in installers
            for name in names]  # fmt: skip
    # assert_type asks for types before it sets or refines them.
    calls = ("_set_local_type", "has_local_type")
    setting = {name: getattr(runtime, name) for name in calls if hasattr(runtime, name)}
    for module, install, _ in installers:
        getattr(module, install)()
    try:
        for name, function in setting.items():
            setattr(runtime, name, _stating(function))
        for module, name, _ in kept:
            setattr(module, name, lambda: None)
        yield
    finally:
        for name, function in setting.items():
            setattr(runtime, name, function)
        for module, name, function in kept:
            setattr(module, name, function)
        for module, _, remove in reversed(installers):
            getattr(module, remove)()


def _stating(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function about a tensor whose types are being stated, of which the recorder is told: it
    reads them at the next call.
    """

    def stating(tensor: torch.Tensor, *types: Any) -> Any:
        recorder = current_recorder()
        if recorder is None or not isinstance(tensor, torch.Tensor):
            return function(tensor, *types)
        recorder.settle()
        result = function(tensor, *types)
        recorder.stated(tensor)
        return result

    return stating
