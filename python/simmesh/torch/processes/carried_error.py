"""Exceptions that go from one process to another, with the places of their tracebacks."""

from __future__ import annotations

import pickle
import sys
import traceback
import types
from dataclasses import dataclass
from typing import Any

# A chain of causes may be a ring.
_CAUSES_MAX = 16


@dataclass(frozen=True)
class _Place:
    """One frame of a traceback."""

    file: str
    line: int
    function: str
    module: str


@dataclass
class CarriedError:
    """An exception as a message.

    ``pickled`` has its class, arguments and attributes. A class that the other process can't find
    becomes ``base``, the nearest one of Python's own, with the exception's ``text``.
    """

    pickled: bytes
    base: type[BaseException]
    text: str
    places: list[_Place]
    cause: CarriedError | None = None
    context: CarriedError | None = None
    hides_context: bool = False


def carried(error: BaseException, depth: int = 0) -> CarriedError:
    """Makes a message of an exception. What pickle can't take goes as its text."""
    attributes = {name: _sent(value) for name, value in vars(error).items()}
    facts = (type(error), tuple(map(_sent, error.args)), attributes)
    found = CarriedError(
        pickle.dumps(facts) if _is_picklable(facts) else b"",
        next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins"),
        "".join(traceback.format_exception_only(type(error), error)).strip(),
        _places(error.__traceback__),
    )
    if depth < _CAUSES_MAX:
        found.hides_context = error.__suppress_context__
        if error.__cause__ is not None:
            found.cause = carried(error.__cause__, depth + 1)
        if error.__context__ is not None and not error.__suppress_context__:
            found.context = carried(error.__context__, depth + 1)
    return found


def revived(message: CarriedError) -> BaseException:
    """An exception equal to the one that was carried. Its traceback has the same places."""
    attributes: dict[str, Any] = {}
    try:
        kind, arguments, attributes = pickle.loads(message.pickled)
    except Exception:
        kind, arguments = message.base, (message.text,)
    # The constructor of a class may take other arguments than it passes on.
    error: BaseException = kind.__new__(kind, *arguments)
    error.args = arguments
    vars(error).update(attributes)
    if message.cause is not None:
        error.__cause__ = revived(message.cause)
    if message.context is not None:
        error.__context__ = revived(message.context)
    error.__suppress_context__ = message.hides_context
    return error.with_traceback(_traceback(message.places))


def _sent(value: Any) -> Any:
    return value if _is_picklable(value) else repr(value)


def _is_picklable(value: Any) -> bool:
    try:
        pickle.loads(pickle.dumps(value))
    except Exception:
        return False
    return True


def _places(found: types.TracebackType | None) -> list[_Place]:
    places = []
    while found is not None:
        frame = found.tb_frame
        places.append(
            _Place(frame.f_code.co_filename, found.tb_lineno, frame.f_code.co_name,
                   str(frame.f_globals.get("__name__", "")))
        )  # fmt: skip
        found = found.tb_next
    return places


def _traceback(places: list[_Place]) -> types.TracebackType | None:
    found = None
    for place in reversed(places):
        # No instruction: tools take the line as it is.
        found = types.TracebackType(found, _frame(place), -1, place.line)
    return found


def _frame(place: _Place) -> types.FrameType:
    """A frame of a function of that name in that file."""
    code = compile("found = _getframe()", place.file, "exec").replace(co_name=place.function)
    names: dict[str, Any] = {"__name__": place.module, "_getframe": sys._getframe}
    exec(code, names)
    frame: types.FrameType = names.pop("found")
    return frame
