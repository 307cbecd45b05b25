"""Values that ranks return, on their way from one process to another."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any


@dataclass
class Unsent:
    """Stands for the value of a rank that pickle can't send: its text, and why not."""

    text: str
    reason: str


@dataclass
class SentValue:
    """A value as a message; without ``pickled`` the reason why there is none."""

    pickled: bytes
    text: str
    reason: str = ""

    def value(self) -> Any:
        """The value, or an ``Unsent`` where this process can't make it."""
        if self.reason:
            return Unsent(self.text, self.reason)
        try:
            return pickle.loads(self.pickled)
        except Exception as error:
            return Unsent(self.text, _words(error))


def sent_value(value: Any) -> SentValue:
    """Makes a message of a value."""
    try:
        return SentValue(pickle.dumps(value), repr(type(value)))
    except Exception as error:
        return SentValue(b"", repr(value), _words(error))


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
