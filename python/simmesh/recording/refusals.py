"""Refusals of PyTorch as cases write them: the exception's class and a phrase of its message."""

from __future__ import annotations

from typing import Any

_CLASSES = (
    "AssertionError",
    "AttributeError",
    "IndexError",
    "KeyError",
    "NotImplementedError",
    "RuntimeError",
    "TypeError",
    "ValueError",
    "ZeroDivisionError",
)

# Each phrase is common to all messages of one refusal, whatever the tensor and the mesh.
_PHRASES = (
    "Redistribution from one partial type",
    "redistributing to Partial is for internal use only",
    "conversion is not supported",
    "Dimension out of range",
    "Mixed Partial reduce types are not supported",
    "Expected tensor.dim() > 0",
    "not supported yet",
    "does not have a sharding strategy registered",
    "Sharding propagation failed",
)


def phrase_of(error: BaseException, known: str | None = None) -> tuple[str, str]:
    """Returns the class and the phrase: ``known``, an earlier one, if it still occurs."""
    name = next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _CLASSES), None)
    if name is None:
        raise error
    message = str(error)
    phrases = (*((known,) if known else ()), *_PHRASES)
    first = message.strip().split("\n")[0][:80] or name
    return name, next((phrase for phrase in phrases if phrase in message), first)


def describe(error: BaseException, known: dict[str, Any] | None = None) -> dict[str, str]:
    """The field ``error`` of a case."""
    name, phrase = phrase_of(error, (known or {}).get("message_contains"))
    return {"error": name, "message_contains": phrase}
