"""Messages between a rank's process and its seat: pickles over a socket."""

from __future__ import annotations

import pickle
import select
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("<Q")
_CHUNK = 1 << 16

# A rank replaces the functions of this module by ones that look at its threads.
_poll = select.poll


class ChannelClosed(Exception):
    """Raised where the other side is gone."""


class Channel:
    """One end of a connection. What was sent before the other side ended can be received."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self._buffer = bytearray()
        self._poller = _poll()
        self._poller.register(end.fileno(), select.POLLIN)

    def send(self, message: Any) -> None:
        """Sends what pickle takes. Raises ChannelClosed."""
        self.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def send_bytes(self, data: bytes) -> None:
        """Sends a message that is pickled. Raises ChannelClosed."""
        try:
            self.socket.sendall(_LENGTH.pack(len(data)) + data)
        except OSError:
            raise ChannelClosed from None

    def receive(self) -> Any:
        """Waits for the next message, and returns it. Raises ChannelClosed."""
        self._fill(_LENGTH.size)
        (length,) = _LENGTH.unpack_from(self._buffer)
        self._fill(_LENGTH.size + length)
        message = bytes(memoryview(self._buffer)[_LENGTH.size : _LENGTH.size + length])
        del self._buffer[: _LENGTH.size + length]
        return pickle.loads(message)

    def wait(self, seconds: float) -> bool:
        """Waits for a message or the end of the other side; False where the time came first."""
        return bool(self._buffer) or bool(self._poller.poll(seconds * 1000))

    def close(self) -> None:
        self.socket.close()

    def _fill(self, size: int) -> None:
        while len(self._buffer) < size:
            try:
                part = self.socket.recv(max(_CHUNK, size - len(self._buffer)))
            except OSError:
                part = b""
            if not part:
                raise ChannelClosed
            self._buffer += part


def channel_pair() -> tuple[Channel, Channel]:
    """Two connected ends."""
    one, other = socket.socketpair()
    return Channel(one), Channel(other)
