"""Groups that a rank's program makes by the class ProcessGroupGloo itself, without
init_process_group.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch.distributed as dist
import torch.distributed.distributed_c10d as c10d
from torch._C._distributed_c10d import FakeProcessGroup

from simmesh.torch import groups
from simmesh.torch.isolation.patches import Patches

_gloo: Any = getattr(dist, "ProcessGroupGloo", None)


class RankProcessGroupGloo:
    """Replaces ``ProcessGroupGloo`` in a rank: it makes a group of ranks, which find each other by
    the store. Devices and threads of the options have no effect, since nothing leaves the process.
    """

    def __new__(
        cls, store: Any, rank: int, size: int, options: Any = None,
        timeout: timedelta | None = None,
    ) -> Any:  # fmt: skip
        name = getattr(options, "group_name", "") or "ProcessGroupGloo"
        return groups.make_unregistered(store, rank, size, f"{name} (gloo)")


def install(patches: Patches) -> None:
    """Replaces the class where torch has one, and lets backends of ranks make its devices."""
    if _gloo is None:
        return
    for name in ("Device", "Options", "_Options", "create_device", "create_default_device"):
        if hasattr(_gloo, name):
            setattr(RankProcessGroupGloo, name, getattr(_gloo, name))
    for namespace in (dist, c10d):
        patches.replace(namespace, "ProcessGroupGloo", RankProcessGroupGloo)
    for name in ("create_device", "create_default_device"):
        patches.replace(FakeProcessGroup, name, staticmethod(getattr(_gloo, name)))
    # Gloo's class has it for itself, and programs that make a group by the class call it.
    patches.replace(dist.ProcessGroup, "_set_sequence_number_for_group", lambda group: None)
    patches.around_in_ranks(dist.ProcessGroup, "_register_backend", _register_backend)


def _register_backend(of_torch: Any, process_group: Any, *arguments: Any, **options: Any) -> None:
    """Lets a program's own process group have what RankProcessGroupGloo made as its backend."""
    given = options.get("backend", arguments[-1] if arguments else None)
    if isinstance(given, dist.ProcessGroup):
        groups.share_group(of_torch, process_group, given)
    else:
        of_torch(process_group, *arguments, **options)
