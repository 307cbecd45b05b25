"""The order of work on the streams of a rank, and the first two uses that nothing orders.

A GPU runs a stream's work one after the other, and that of different streams at any time, unless a
program orders them: by an event, by ``wait_stream``, by a wait for a collective, or since the host
waits in between. The CPU does all work in the order of the program. So ``StreamOrder`` keeps, for
each stream and for the host, what has certainly been done before its next work (a vector clock),
and each storage keeps its last uses. A use that another one could overtake is an error.

``record_stream`` matters when a tensor ends: its memory goes back to the stream that it came from.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch

from simmesh import _core
from simmesh.torch import rank_state
from simmesh.torch.isolation.patches import Patches

#: The key of the host among the streams, which are known by their device and their number.
HOST = ("host", 0)

Key = tuple[Any, int]
Clock = dict[Key, int]

_USES = "_simmesh_uses"


@dataclass(frozen=True)
class _Use:
    """A piece of work that reads or writes some bytes of a storage."""

    key: Key
    count: int
    name: str
    site: str
    begin: int
    end: int
    is_write: bool

    @property
    def text(self) -> str:
        return f"{self.name} at {self.site} on {name_of(self.key)}"


def name_of(key: Key) -> str:
    """A stream in the words of a report."""
    if key == HOST:
        return "the host"
    if key[0] == "group":
        return "the stream of its group"
    return f"stream {key[1]} of cuda:{key[0]}" if key[1] else f"the default stream of cuda:{key[0]}"


class _Uses:
    """The uses of a storage that later ones may have to wait for. The memory is ``born`` on a
    stream, to which it returns when the storage ends; ``None`` for memory of the host.
    """

    def __init__(self, order: StreamOrder, born: Key | None) -> None:
        self.order, self.born = order, born
        self.found: list[_Use] = []
        self.recorded: set[Key] = set()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the rank, or Python itself, may be at its end
            self.order.free(self)


@dataclass
class _Freed:
    """Uses of memory that went back to its stream."""

    uses: list[_Use]
    site: str


@dataclass
class StreamOrder:
    """The order of a rank's streams. ``works`` has what is done when an operation ends, for as long
    as a program could wait for it.
    """

    clocks: dict[Key, Clock] = field(default_factory=dict)
    works: WeakKeyDictionary[Any, Clock] = field(default_factory=WeakKeyDictionary)
    groups: dict[str, Key] = field(default_factory=dict)
    freed: dict[Key, list[_Freed]] = field(default_factory=dict)

    def group_key(self, name: str) -> Key:
        """Returns the key of the stream on which a group's operations run."""
        return self.groups.setdefault(name, ("group", len(self.groups)))

    def clock(self, key: Key) -> Clock:
        """Returns the work that has been done before the next one of a stream."""
        return self.clocks.setdefault(key, {})

    def join(self, key: Key, clock: Clock) -> None:
        """Lets the next work of a stream begin after all that a clock has."""
        own = self.clock(key)
        for other, count in clock.items():
            if own.get(other, 0) < count:
                own[other] = count

    def join_device(self, index: int) -> None:
        """Lets the host go on after all that was started on a device, and in groups."""
        for key, clock in list(self.clocks.items()):
            if key[0] in (index, "group"):
                self.join(HOST, clock)

    def launch(self, key: Key) -> int:
        """Starts a piece of work on a stream, after what the host has seen; returns its number."""
        if key != HOST:
            self.join(key, self.clock(HOST))
        own = self.clock(key)
        own[key] = own.get(key, 0) + 1
        return own[key]

    def use(self, tensor: torch.Tensor, key: Key, count: int, name: str, is_write: bool) -> None:
        """Notes a use of a tensor. Raises RuntimeError if an earlier one isn't ordered before."""
        storage = _storage(tensor)
        if storage is None or not tensor.numel():
            return
        uses = getattr(storage, _USES, None)
        if uses is None:
            return
        begin = tensor.storage_offset() * tensor.element_size()
        steps = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride()))
        end = begin + (steps + 1) * tensor.element_size()
        use = _Use(key, count, name, str(_core.call_site()), begin, end, is_write)
        clock = self.clock(key)
        kept = []
        for each in uses.found:
            overlaps = each.begin < end and begin < each.end
            is_before = each.count <= clock.get(each.key, 0)
            if overlaps and not is_before and (is_write or each.is_write):
                self._report(use, each)
            if not (is_before and is_write and begin <= each.begin and each.end <= end):
                kept.append(each)
        if key != HOST:
            same = [each for each in kept if (each.key, each.is_write, each.begin, each.end)
                    == (key, is_write, begin, end)]  # fmt: skip
            kept = [each for each in kept if each not in same]
            kept.append(use)
        uses.found = kept

    def make(self, tensor: torch.Tensor, key: Key | None, name: str = "") -> None:
        """Notes memory that a stream, or the host, gets."""
        storage = _storage(tensor)
        if storage is None or hasattr(storage, _USES):
            return
        setattr(storage, _USES, _Uses(self, key))
        if key is not None and tensor.numel():
            self._expect_memory(key, name)

    def free(self, uses: _Uses) -> None:
        """Notes that memory goes back to its stream."""
        state = rank_state.current()
        if uses.born is None or state is None or state.stream_order is not self:
            return
        known = {uses.born, *uses.recorded}
        others = [use for use in uses.found if use.key not in known and use.key[0] != "group"]
        if others:
            site = str(_core.call_site())
            self.freed.setdefault(uses.born, []).append(_Freed(others, site))

    def resized(self, uses: _Uses, key: Key, nbytes: int) -> None:
        """Notes that memory goes back to its stream, or that a stream gets new memory for it."""
        if uses.born is None:
            return
        if nbytes == 0:
            self.free(uses)
            uses.found, uses.recorded = [], set()
        elif not uses.found:
            uses.born = key
            self._expect_memory(key, "resize_")

    def _expect_memory(self, key: Key, name: str) -> None:
        """Raises RuntimeError if memory may be used by another stream when this one gets it."""
        waiting = self.freed.get(key)
        if not waiting:
            return
        clock, left = {**self.clock(HOST), **self.clock(key)}, []
        for each in waiting:
            late = [use for use in each.uses if use.count > clock.get(use.key, 0)]
            if late:
                left.append((each, late[0]))
        self.freed[key] = [each for each, _ in left]
        if left:
            freed, use = left[0]
            verb = "writes" if use.is_write else "reads"
            raise RuntimeError(
                f"[torch/cuda] rank {_core.rank()}: {name} at {_core.call_site()} may get, on "
                f"{name_of(key)}, the memory of a tensor that {use.text} {verb}, and that ended at "
                f"{freed.site}: expected record_stream({name_of(use.key)}) or a wait for it "
                "before, got none; check_accesses=False lets it pass"
            )

    def _report(self, use: _Use, earlier: _Use) -> None:
        verb, other = ("writes" if each.is_write else "reads" for each in (use, earlier))
        raise RuntimeError(
            f"[torch/cuda] rank {_core.rank()}: {use.text} {verb} a tensor that {earlier.text} "
            f"{other}: expected an order of the two, by wait_stream, an event or synchronize, got "
            "none; check_accesses=False lets it pass"
        )

    def begin_works(self, works: Iterable[Any], clock: Clock) -> None:
        """Notes the operations of a collective with what is done when they end. Several streams may
        wait for one.
        """
        for work in works:
            for operation in work.operations:
                self.works[operation] = clock

    def end(self, operations: Iterable[Any]) -> None:
        """Lets the current stream go on after operations that it waited for."""
        from simmesh.torch.cuda import streams

        for operation in operations:
            clock = self.works.get(operation)
            if clock is not None:
                self.join(streams.current_stream()._key(), clock)


def current() -> StreamOrder | None:
    """The order of the streams of this rank, unless nobody looks at it."""
    state = rank_state.current()
    return None if state is None else state.stream_order


def is_made(tensor: torch.Tensor) -> bool:
    """True if the memory of a tensor came from a stream."""
    uses = getattr(_storage(tensor), _USES, None)
    return uses is not None and uses.born is not None


def record_stream(tensor: torch.Tensor, key: Key) -> None:
    """Notes that a tensor's memory must not be given away before a stream has used it."""
    uses = getattr(_storage(tensor), _USES, None)
    if uses is not None:
        uses.recorded.add(key)


def install(patches: Patches) -> None:
    """Notes storages that ranks give back and get anew, as sharded parameters do."""
    patches.around_in_ranks(torch.UntypedStorage, "resize_", _resize)


def _resize(resize: Any, storage: torch.UntypedStorage, nbytes: int) -> Any:
    from simmesh.torch.cuda import streams

    found, uses = current(), getattr(storage, _USES, None)
    if found is not None and uses is not None:
        found.resized(uses, streams.current_stream()._key(), int(nbytes))
    return resize(storage, nbytes)


def _storage(tensor: torch.Tensor) -> Any:
    from simmesh.torch.cuda import devices

    return devices.storage(tensor)


@contextlib.contextmanager
def looked_at() -> Iterator[None]:
    """Looks at the order of the streams of this rank."""
    state = rank_state.current()
    if state is None or state.stream_order is not None:
        yield
        return
    state.stream_order = StreamOrder()
    try:
        yield
    finally:
        state.stream_order = None
