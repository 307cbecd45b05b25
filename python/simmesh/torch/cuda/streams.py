"""Streams and events of CUDA in ranks: the CPU does all work in the order of the program.

So a stream has nothing left to do when a program asks it, and an event has happened when it was
recorded. What a GPU could do in another order is known to ``order``, which is told of each wait.
"""

from __future__ import annotations

import threading
from typing import Any

from simmesh.torch import rank_state
from simmesh.torch.cuda import devices, order
from simmesh.torch.isolation import clock


def _new_id() -> int:
    """The number of a new stream of this rank. The default streams have 0."""
    state = rank_state.of_rank()
    state.streams_made += 1
    return state.streams_made


class Stream:
    """A stream of one device. The default stream of a device has the id 0."""

    def __init__(self, device: Any = None, priority: int = 0, **ids: Any) -> None:
        self.device_index = devices.index_or_current(device)
        self.device = devices.device(self.device_index)
        self.priority = priority
        self.stream_id = ids["stream_id"] if "stream_id" in ids else _new_id()

    @property
    def cuda_stream(self) -> int:
        return int(self.stream_id)

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return 0, -1

    def wait_event(self, event: Any) -> None:
        event.wait(self)

    def wait_stream(self, stream: Any) -> None:
        found = order.current()
        if found is not None:
            found.join(self._key(), found.clock(stream._key()))

    def record_event(self, event: Event | None = None) -> Event:
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        self.synchronize()
        return True

    def synchronize(self) -> None:
        found = order.current()
        if found is not None:
            found.join(order.HOST, found.clock(self._key()))

    def is_capturing(self) -> bool:
        return False

    def __enter__(self) -> Stream:
        _entered().append(StreamContext(self))
        _entered()[-1].__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        _entered().pop().__exit__(*error)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"<simmesh.torch.cuda.Stream {self.stream_id} of cuda:{self.device_index}>"

    def _key(self) -> tuple[int, int]:
        return self.device_index, self.stream_id


class Event:
    """A point in a stream, which has happened once it is recorded. Times are those of the run."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False,
        external: bool = False,
    ) -> None:  # fmt: skip
        if interprocess:
            raise RuntimeError(
                "[torch/cuda] Event: expected interprocess=False, since ranks share no handles, "
                "got interprocess=True"
            )
        self._has_time = enable_timing
        self._seconds: float | None = None
        self._clock: order.Clock = {}

    def record(self, stream: Any = None) -> None:
        self._seconds = clock.now()
        found = order.current()
        if found is not None:
            key = (stream or current_stream())._key()
            found.join(key, found.clock(order.HOST))
            self._clock = dict(found.clock(key))

    def wait(self, stream: Any = None) -> None:
        self._let_go_on((stream or current_stream())._key())

    def query(self) -> bool:
        self.synchronize()
        return True

    def synchronize(self) -> None:
        self._let_go_on(order.HOST)

    def _let_go_on(self, key: order.Key) -> None:
        found = order.current()
        if found is not None:
            found.join(key, self._clock)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds of the run's time. Raises RuntimeError where CUDA does."""
        if not (self._has_time and end_event._has_time):
            raise RuntimeError(
                "[torch/cuda] Both events must be created with argument 'enable_timing=True'."
            )
        if self._seconds is None or end_event._seconds is None:
            raise RuntimeError(
                "[torch/cuda] Both events must be recorded before calculating elapsed time."
            )
        return (end_event._seconds - self._seconds) * 1000

    def ipc_handle(self) -> None:
        raise RuntimeError("[torch/cuda] Event.ipc_handle: ranks share no handles of events")


class AcceleratorEvent(Event):
    """``torch.Event``, whose first argument is a device."""

    def __init__(self, device: Any = None, **options: Any) -> None:
        super().__init__(**options)
        self.device = devices.device(devices.index_or_current(device))


class _OfThread(threading.local):
    """The stream of each device that a thread uses, and the streams that it entered."""

    def __init__(self) -> None:
        self.current: dict[int, Stream] = {}
        self.entered: list[StreamContext] = []


_of_thread = _OfThread()


def _entered() -> list[StreamContext]:
    return _of_thread.entered


def forget() -> None:
    """Forgets the streams of this thread, which may serve another rank later."""
    _of_thread.current, _of_thread.entered = {}, []


def default_stream(device: Any = None) -> Stream:
    """The default stream of a device."""
    return Stream(device, stream_id=0)


def current_stream(device: Any = None) -> Stream:
    """The stream that this thread uses on a device."""
    index = devices.index_or_current(device)
    return _of_thread.current.get(index) or default_stream(index)


def set_stream(stream: Stream | None) -> None:
    """Lets this thread use a stream, and the stream's device."""
    if stream is not None:
        _of_thread.current[stream.device_index] = stream
        devices.set_current(stream.device_index)


class StreamContext:
    """Uses a stream for a while; None for no change."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self._before = devices.current(), current_stream(self.stream.device_index)
            set_stream(self.stream)

    def __exit__(self, *error: Any) -> None:
        if self.stream is not None:
            index, stream = self._before
            set_stream(stream)
            devices.set_current(index)
