"""Things that all ranks of a run share, as a rank's process reaches them: stores, joint calls,
barriers and shared values. The seat uses them with the turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

from simmesh import shared
from simmesh.torch import monitored_barrier
from simmesh.torch.isolation.patches import Patches
from simmesh.torch.processes.rank_core import RankCore
from simmesh.torch.rank_state import SharedState


class RemoteKeys:
    """The keys of one place of stores: the methods are those of ``StoreKeys``."""

    def __init__(self, core: RankCore, place: str) -> None:
        self._core = core
        self._place = place

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*arguments: Any) -> Any:
            return self._core.ask("store", self._place, name, *arguments)

        return call


class _RemoteJointCalls:
    """Joint calls, compared by the seat."""

    def __init__(self, core: RankCore) -> None:
        self._core = core

    def make(self, rank: int, members: Sequence[int], name: str, what: str) -> None:
        self._core.ask("joint_call", list(members), name, what)

    def end(self, rank: int) -> None:
        self._core.ask("joint_calls_end")

    def missing(self) -> str:
        return ""


class RemoteState(SharedState):
    """The shared state as one process sees it."""

    def __init__(self, core: RankCore, own: SharedState) -> None:
        super().__init__(own.ranks, own.seed, own.allows_strided, own.timeout)
        self._core = core
        self.joint_calls: Any = _RemoteJointCalls(core)

    def keys_of(self, place: str) -> Any:
        return RemoteKeys(self._core, place)


def install(core: RankCore, patches: Patches) -> None:
    """Lets barriers and values that ranks share be the seat's."""

    def meet(*arguments: Any) -> None:
        core.ask("monitored_barrier", *arguments)

    patches.replace(monitored_barrier, "meet", meet)

    def get(value: shared.Shared[Any]) -> Any:
        return core.ask("get_shared", value.name, value._first)

    def change(value: shared.Shared[Any], function: Callable[[Any], Any]) -> Any:
        changed = function(get(value))
        core.ask("set_shared", value.name, changed)
        return changed

    patches.replace(shared.Shared, "get", get)
    patches.replace(shared.Shared, "set", lambda value, new: change(value, lambda _: new) and None)
    patches.replace(shared.Shared, "update", change)
