"""The core as a rank's process sees it: each function that needs the engine asks the rank's seat.

A request gives the turn back to the seat. The answer brings the results of operations that
completed in the meantime.
"""

from __future__ import annotations

import _thread
import os
import socket
import sys
import threading
from collections.abc import Sequence
from types import CodeType
from typing import Any, Callable

import simmesh
from simmesh import _core
from simmesh.torch.internal_files import internal_files
from simmesh.torch.isolation.patches import Patches
from simmesh.torch.processes.carried_error import carried, revived
from simmesh.torch.processes.channel import Channel, ChannelClosed
from simmesh.torch.processes.exact_operands import CarriedOperation
from simmesh.torch.processes.operand_memory import OperandMemory

#: Records of exact values behind tensors, None behind which nothing is kept.
Records = Sequence[Any]

# Functions that the seat calls as they are.
_OF_SEAT = (
    "yield_now", "sleep", "touch", "park", "unpark", "others_can_run", "next_deadline",
    "run_number", "end_threads",
)  # fmt: skip

# Functions of simmesh's own tensors and meshes, whose data is in the process of the engine.
_OF_OWN_TENSORS = (
    "all_gather", "all_gather_async", "all_gather_list", "all_reduce", "all_reduce_async",
    "all_to_all", "all_to_all_single", "barrier", "broadcast", "distribute_tensor", "gather",
    "init_device_mesh", "irecv", "isend", "recv", "reduce", "reduce_scatter", "scatter", "send",
)  # fmt: skip

_INTERNAL = ("<frozen", *internal_files())


class _Seats(threading.local):
    """The seat of a thread of this process, and the channel to it; None for other threads."""

    number: int | None = None
    channel: Channel | None = None
    place: tuple[str, int] | None = None


class RankCore:
    """The rank of this process, and the way to its seats."""

    def __init__(
        self, rank: int, channel: Channel, memory: OperandMemory, runs_ahead: bool
    ) -> None:
        self.rank = rank
        self.runs_ahead = runs_ahead
        self.memory = memory
        self.has_ended = False
        self._seats = _Seats()
        self._seats.number, self._seats.channel = rank, channel
        self._process = os.getpid()
        self._virtual_time = 0.0
        self._internal: dict[CodeType, bool] = {}
        self._outermost = sys._getframe(1)

    def install(self, patches: Patches) -> None:
        """Puts these functions in place of the core's."""
        for name in _OF_SEAT:
            patches.replace(_core, name, _asking(self, name))
        replaced: dict[str, Any] = {
            "rank": self._rank, "seat": self._seat, "record": self._record,
            "virtual_time": lambda: self._virtual_time, "has_ended": lambda: self.has_ended,
            "call_place": self.place, "call_site": self._site,
            "set_place_of_thread": self._set_place, "start_thread": self._start_thread,
            "Group": lambda members, name="group": RankGroup(self, members, name),
        }  # fmt: skip
        for name, function in replaced.items():
            patches.replace(_core, name, function)
        patches.replace(simmesh, "record", self._record)
        for name in _OF_OWN_TENSORS:
            patches.replace(simmesh, name, _refusing(name, getattr(simmesh, name)))
        os.register_at_fork(after_in_child=self._forget)

    def begin(self) -> None:
        """Waits until the rank may begin."""
        self._receive_answer()

    def ask(self, name: str, *arguments: Any, **options: Any) -> Any:
        """Lets the seat perform a request, and returns or raises its answer."""
        values = self.memory.give()
        self._send(("call", name, arguments, options, self.place(), values))
        return self._receive_answer()

    def start(
        self, name: str, group: int, inputs: Sequence[Any], outputs: Sequence[Any], *more: Any,
        records: tuple[Records, Records] = ((), ()), **options: Any,
    ) -> RankOperation:  # fmt: skip
        """Lets the seat start an operation on tensors. It carries exact values if there are
        ``records`` of the operands and the results, or None in place of one.
        """
        values = self.memory.give()
        carried = CarriedOperation(inputs, outputs, *records) if any(records) else None
        if carried is not None:
            options["carried"] = carried.start()
        number, *arrays = self.memory.add(inputs, outputs, carried)
        arguments = (number, group, *arrays, *more)
        try:
            self._send(("call", name, arguments, options, self.place(), values))
            self._receive_answer()
        except BaseException:
            self.memory.drop(number)
            raise
        self.memory.started(number)
        return RankOperation(self, number, receives=name == "recv")

    def tell(self, *message: Any) -> None:
        """Sends what needs no answer."""
        if self._seats.channel is not None:
            self._seats.channel.send(message)

    def may_go_on(self) -> bool:
        """True if a wait needs no turn: all operations have completed, and the rank runs ahead."""
        return self.runs_ahead and not self.memory.has_operations()

    def place(self) -> tuple[str, int]:
        """The file and line of the program's call, by the rule of the core."""
        frame = sys._getframe(1)
        while True:
            outer = frame.f_back
            is_internal = self._is_internal(frame.f_code)
            if not is_internal or outer is None or frame is self._outermost:
                place = self._seats.place
                if is_internal and place is not None:
                    return place
                return frame.f_code.co_filename, frame.f_lineno
            frame = outer

    def _is_internal(self, code: CodeType) -> bool:
        found = self._internal.get(code)
        if found is None:
            found = self._internal[code] = code.co_filename.startswith(_INTERNAL)
        return found

    def _site(self) -> str:
        file, line = self.place()
        return f"{os.path.basename(file)}:{line}"

    def _set_place(self, file: str, line: int) -> None:
        self._seats.place = (file, line)

    def _rank(self) -> int | None:
        return None if self._seats.number is None else self.rank

    def _seat(self) -> int | None:
        return self._seats.number

    def _record(self, word: int) -> None:
        self.tell("record", word)

    def _send(self, message: Any) -> None:
        if self._seats.channel is None:
            raise RuntimeError(
                f"[torch/processes] rank {self.rank}: expected a thread of the rank, got another"
            )
        try:
            self._seats.channel.send(message)
        except ChannelClosed:
            _end_without_seat()

    def _receive_answer(self) -> Any:
        channel = self._seats.channel
        assert channel is not None
        try:
            is_value, value, completed, self._virtual_time = channel.receive()
        except ChannelClosed:
            _end_without_seat()
        self.memory.take(completed)
        if is_value:
            return value
        error = revived(value)
        if isinstance(error, _core.RankEnded):
            self.has_ended = True
        raise error

    def _start_thread(self, name: str, body: Callable[[], None]) -> int:
        self.runs_ahead = False
        seat: int = self.ask("start_thread", name)
        # The seat's socket follows, once the answer is read.
        main = self._seats.channel
        assert main is not None
        main.send(("ready",))
        _, files, _, _ = socket.recv_fds(main.socket, 1, 1)
        channel = Channel(socket.socket(fileno=files[0]))
        _thread.start_new_thread(self._run_thread, (seat, channel, self.place(), body))
        return seat

    def _run_thread(
        self, seat: int, channel: Channel, place: tuple[str, int], body: Callable[[], None]
    ) -> None:
        self._seats.number, self._seats.channel = seat, channel
        self._seats.place = place
        try:
            self._receive_answer()
            body()
        except BaseException as error:
            channel.send(("end", False, carried(error), None))
        else:
            channel.send(("end", True, None, None))

    def _forget(self) -> None:
        """A process that a rank forks is no rank."""
        channel = self._seats.channel
        self._seats = _Seats()
        if channel is not None and os.getpid() != self._process:
            channel.close()


class RankGroup:
    """A group of the core, whose operations the seat starts."""

    def __init__(self, core: RankCore, members: Sequence[int], name: str) -> None:
        self._core = core
        self._number, self.rank, self.size, self.name = core.ask("group", list(members), name)

    def collective(
        self, op: str, inputs: Sequence[Any], outputs: Sequence[Any], *,
        input_records: Records = (), output_records: Records = (), **options: Any,
    ) -> RankOperation:  # fmt: skip
        records = input_records, output_records
        return self._core.start(
            "collective", self._number, inputs, outputs, op, records=records, **options
        )

    def send(self, tensor: Any, peer: int, tag: int = 0, record: Any = None) -> RankOperation:
        records = [record] * (record is not None), ()
        return self._core.start("send", self._number, [tensor], [], peer, tag, records=records)

    def recv(
        self, tensor: Any, peer: int | None, tag: int = 0, record: Any = None
    ) -> RankOperation:
        records = (), [record] * (record is not None)
        return self._core.start("recv", self._number, [], [tensor], peer, tag, records=records)


class RankOperation:
    """An operation that the seat has started."""

    def __init__(self, core: RankCore, number: int, receives: bool) -> None:
        self._core = core
        self._number = number
        self._receives = receives
        self._source: int | None = None

    def wait(self, timeout: float | None = None) -> bool:
        if timeout is None and not self._receives and self._core.may_go_on():
            self._core.tell("waited", self._number, self._core.place())
            return True
        is_complete, self._source = self._core.ask("wait", self._number, timeout)
        return bool(is_complete)

    def is_completed(self) -> bool:
        return bool(self._core.ask("is_completed", self._number))

    @property
    def source(self) -> int | None:
        return self._source

    def __repr__(self) -> str:
        return f"<Operation {self._number}>"


def _asking(core: RankCore, name: str) -> Callable[..., Any]:
    def ask(*arguments: Any, **options: Any) -> Any:
        return core.ask(name, *arguments, **options)

    return ask


def _refusing(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def refuse(*arguments: Any, **options: Any) -> Any:
        if _core.rank() is None:
            return original(*arguments, **options)
        raise RuntimeError(
            f"[torch/processes] simmesh.{name}: expected ranks that are threads, since its tensors "
            "are in the process of the engine, got seats='processes'"
        )

    return refuse


def _end_without_seat() -> Any:
    """Ends the process: the one that started it is gone, or has given it up."""
    os._exit(1)
