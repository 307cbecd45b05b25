"""A seat of a rank that is a process: a server that performs the process's requests."""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Callable

from simmesh import _core
from simmesh.torch import monitored_barrier, rank_state
from simmesh.torch.processes.carried_error import CarriedError, carried, revived
from simmesh.torch.processes.channel import Channel, ChannelClosed, channel_pair
from simmesh.torch.processes.exact_operands import BlockRecords, Carried, CarriedStart
from simmesh.torch.processes.operand_memory import SharedArray
from simmesh.torch.processes.rank_process import RankProcess, RankProcessEnded
from simmesh.torch.processes.shared_locks import SharedLocks
from simmesh.torch.store_keys import StoreKeys


@dataclass
class Facts:
    """The facts that a rank's process tells at its end."""

    calls: Any = None
    made_groups: bool = False
    unwatched: dict[str, str] = field(default_factory=dict)
    has_started_threads: bool = False
    isolated: list[str] = field(default_factory=list)
    imported: list[str] = field(default_factory=list)


class RankDesk:
    """The operations and groups of one rank, which its seats share."""

    def __init__(self, process: RankProcess, timeout: float, runs_ahead: bool) -> None:
        self.process = process
        self.timeout = timeout
        self.runs_ahead = runs_ahead
        self.groups: list[_core.Group] = []
        self.operations: dict[int, _core.Operation] = {}
        self.records = BlockRecords()
        self.facts = Facts()
        self.is_over = False
        self._under_way: dict[int, None] = {}

    def add(self, number: int, operation: _core.Operation) -> None:
        """Keeps an operation that was started, under the process's number."""
        self.operations[number] = operation
        self._under_way[number] = None

    def completed(self) -> list[tuple[int, list[Carried]]]:
        """The operations that completed since the last call, with exact values of results."""
        found = [each for each in self._under_way if self.operations[each].has_completed]
        for each in found:
            del self._under_way[each]
        return [(each, self.records.end(each)) for each in found]

    def all_have_completed(self) -> bool:
        """True if no operation of the rank is under way."""
        return all(self.operations[each].has_completed for each in self._under_way)


class Seats:
    """The seats of a run's processes, and those that wait for operations."""

    def __init__(self) -> None:
        self._waiting: list[Seat] = []
        self.locks = SharedLocks()

    def let_run_ahead(self) -> None:
        """Answers the processes all of whose operations have completed by now, before their turn
        comes: nothing that they compute until their next request depends on other ranks.
        """
        for seat in list(self._waiting):
            if seat.desk.all_have_completed():
                self._waiting.remove(seat)
                seat.answer(True, (True, seat.awaited_source()))
                seat.was_answered = True

    def begin_wait(self, seat: Seat) -> None:
        self._waiting.append(seat)

    def end_wait(self, seat: Seat) -> None:
        if seat in self._waiting:
            self._waiting.remove(seat)


class Seat:
    """The server of one seat."""

    def __init__(self, seats: Seats, desk: RankDesk, channel: Channel) -> None:
        self.desk = desk
        self.was_answered = False
        self._seats = seats
        self._channel = channel
        self._error: CarriedError | None = None
        self._awaited: _core.Operation | None = None

    def serve(self) -> Any:
        """Performs requests until the program ends, and returns its value. Raises what it raised,
        and RankProcessEnded.
        """
        process = self.desk.process
        try:
            while True:
                message = process.receive(self._channel, self.desk.timeout)
                if message[0] == "call":
                    self._perform(*message[1:])
                elif message[0] == "waited":
                    self._wait_late(*message[1:])
                elif message[0] == "record":
                    _core.record(message[1])
                elif message[0] == "print":
                    _print(*message[1:])
                elif message[0] == "end":
                    break
        except RankProcessEnded:
            process.kill()
            if self.desk.is_over:  # its threads ended with it
                raise _core.RankEnded from None
            raise
        except BaseException:
            process.kill()
            raise
        _, is_value, value, facts = message
        if facts is not None:
            self.desk.facts, self.desk.is_over = facts, True
        if self._error is not None and is_value:
            raise revived(self._error)
        if not is_value:
            raise revived(value)
        return None if value is None else value.value()

    def answer(self, is_value: bool, value: Any) -> None:
        """Answers the request of the process."""
        with contextlib.suppress(ChannelClosed):  # the next look reports its end
            self._channel.send((is_value, value, self.desk.completed(), _core.virtual_time()))

    def _perform(
        self, name: str, arguments: tuple[Any, ...], options: dict[str, Any], place: Any,
        values: dict[int, list[Carried]],
    ) -> None:  # fmt: skip
        self.desk.process.last_request = f"{_in_words(name, arguments)} at {place[0]}:{place[1]}"
        _core.set_place_of_thread(*place)
        self.desk.records.update(values)
        self.was_answered = False
        try:
            if self._error is not None:
                error, self._error = self._error, None
                raise revived(error)
            own = _HANDLERS.get(name)
            if own is not None:
                value = own(self, *arguments, **options)
            else:
                value = getattr(_core, name)(*arguments, **options)
        except BaseException as error:
            if self.was_answered:
                self._error = carried(error)  # told at the next request
            else:
                self.answer(False, carried(error))
        else:
            if not self.was_answered:
                self.answer(True, value)
            if name == "start_thread":
                self._send_seat()

    def group(self, members: list[int], name: str) -> tuple[int, int, int, str]:
        group = _core.Group(members, name)
        self.desk.groups.append(group)
        return len(self.desk.groups) - 1, group.rank, group.size, group.name

    def collective(
        self, number: int, group: int, inputs: list[SharedArray], outputs: list[SharedArray],
        op: str, carried: CarriedStart | None = None, **options: Any,
    ) -> None:  # fmt: skip
        with self._carrying(number, inputs, outputs, carried) as (given, kept):
            options.update(yields=False, input_records=given, output_records=kept)
            self._add(number, self.desk.groups[group].collective(op, inputs, outputs, **options))
        if self.desk.runs_ahead and self.desk.all_have_completed():
            self.answer(True, None)
            self.was_answered = True
        _core.yield_now()

    def send(
        self, number: int, group: int, inputs: list[SharedArray], outputs: list[SharedArray],
        peer: int, tag: int, carried: CarriedStart | None = None,
    ) -> None:  # fmt: skip
        with self._carrying(number, inputs, outputs, carried) as (given, _):
            record = given[0] if given else None
            self._add(number, self.desk.groups[group].send(inputs[0], peer, tag, record))

    def recv(
        self, number: int, group: int, inputs: list[SharedArray], outputs: list[SharedArray],
        peer: int | None, tag: int, carried: CarriedStart | None = None,
    ) -> None:  # fmt: skip
        with self._carrying(number, inputs, outputs, carried) as (_, kept):
            record = kept[0] if kept else None
            self._add(number, self.desk.groups[group].recv(outputs[0], peer, tag, record))

    @contextlib.contextmanager
    def _carrying(
        self, number: int, inputs: list[SharedArray], outputs: list[SharedArray],
        carried: CarriedStart | None,
    ) -> Iterator[tuple[list[Any], list[Any]]]:  # fmt: skip
        """The records of an operation that carries exact values; none for another."""
        if carried is None:
            yield [], []
            return
        try:
            yield self.desk.records.start(number, inputs, outputs, carried)
        except BaseException:
            self.desk.records.end(number)
            raise

    def _add(self, number: int, operation: _core.Operation) -> None:
        self.desk.add(number, operation)
        self._seats.let_run_ahead()

    def wait(self, number: int, timeout: float | None) -> tuple[bool, int | None]:
        operation = self.desk.operations[number]
        if timeout is not None or not self.desk.runs_ahead:
            return operation.wait(timeout), operation.source
        self._awaited = operation
        self._seats.begin_wait(self)
        self._seats.let_run_ahead()
        try:
            return operation.wait(), operation.source
        finally:
            self._seats.end_wait(self)

    def awaited_source(self) -> int | None:
        """The sender of the receive that the process waits for, and which has completed."""
        return None if self._awaited is None else self._awaited.source

    def _wait_late(self, number: int, place: Any) -> None:
        """Waits for a complete operation for which the process has not waited, to run ahead."""
        _core.set_place_of_thread(*place)
        try:
            self.desk.operations[number].wait()
        except BaseException as error:
            self._error = carried(error)

    def is_completed(self, number: int) -> bool:
        return self.desk.operations[number].is_completed()

    def store(self, place: str, method: str, *arguments: Any) -> Any:
        keys: StoreKeys = rank_state.of_rank().shared.keys_of(place)
        return getattr(keys, method)(*arguments)

    def lock(self, method: str, *arguments: Any) -> Any:
        return getattr(self._seats.locks, method)(*arguments)

    def joint_call(self, members: list[int], name: str, what: str) -> None:
        state = rank_state.of_rank()
        state.shared.joint_calls.make(state.rank, members, name, what)

    def joint_calls_end(self) -> None:
        state = rank_state.of_rank()
        state.shared.joint_calls.end(state.rank)

    def meet(self, *arguments: Any) -> None:
        monitored_barrier.meet(*arguments)

    def get_shared(self, name: str, first: Any) -> Any:
        _core.touch(_number_of_shared(name))
        return rank_state.of_rank().shared.values.setdefault(name, first)

    def set_shared(self, name: str, value: Any) -> None:
        rank_state.of_rank().shared.values[name] = value

    def start_thread(self, name: str) -> int:
        self.desk.runs_ahead = False
        own, other = channel_pair()
        self._new_thread = other

        def body() -> None:
            seat = Seat(self._seats, self.desk, own)
            try:
                seat.answer(True, None)
                seat.serve()
            finally:
                own.close()

        try:
            return _core.start_thread(name, body)
        except BaseException:
            own.close()
            other.close()
            raise

    def _send_seat(self) -> None:
        """Gives the process the other end of its new thread's channel."""
        other = self._new_thread
        try:
            message = self.desk.process.receive(self._channel, self.desk.timeout)
            if message == ("ready",):
                socket.send_fds(self._channel.socket, [b"\0"], [other.socket.fileno()])
        finally:
            other.close()


_HANDLERS: dict[str, Callable[..., Any]] = {
    "group": Seat.group, "collective": Seat.collective, "send": Seat.send, "recv": Seat.recv,
    "wait": Seat.wait, "is_completed": Seat.is_completed, "store": Seat.store,
    "lock": Seat.lock,
    "joint_call": Seat.joint_call, "joint_calls_end": Seat.joint_calls_end,
    "monitored_barrier": Seat.meet, "get_shared": Seat.get_shared, "set_shared": Seat.set_shared,
    "start_thread": Seat.start_thread,
}  # fmt: skip


def _number_of_shared(name: str) -> int:
    from simmesh.shared import number_of

    return number_of(f"Shared {name}")


def _in_words(name: str, arguments: tuple[Any, ...]) -> str:
    """A request as reports name it."""
    if name == "collective":
        return str(arguments[4])
    if name in ("store", "lock"):
        return f"{name} {arguments[1 if name == 'store' else 0]}"
    return name


def _print(stream: str, data: bytes) -> None:
    """Writes what a rank printed where this process prints now."""
    file = getattr(sys, stream)
    if file is not None:
        file.write(data.decode("utf-8", errors="replace"))
        file.flush()
