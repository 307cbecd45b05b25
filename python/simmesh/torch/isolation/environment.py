"""The variables of the environment, which each rank has for itself."""

from __future__ import annotations

import _posixsubprocess
import os
import subprocess
from collections.abc import Iterable, Mapping
from typing import Any, Callable

from simmesh.torch.isolation.patches import Patches

# The dictionary of os.environ and os.environb.
_TEXT: Any = os.environ
_BYTES: Any = os.environb if os.supports_bytes_environ else os.environ


class Environment:
    """The variables of the environment as Python sees them, with each rank's own added.

    So do the processes that a rank starts by ``subprocess``. C code sees the variables of the rank
    that set one last, and the host's again after the run.
    """

    def __init__(self, of_rank: Callable[[int], Mapping[str, str]]) -> None:
        self._of_rank = of_rank
        self._host: dict[Any, Any] = _TEXT._data

    def fresh(self, rank: int) -> dict[Any, Any]:
        own = {
            os.environ.encodekey(k): os.environ.encodevalue(v)
            for k, v in self._of_rank(rank).items()
        }
        return {**self._host, **own}

    def save(self) -> dict[Any, Any]:
        return _TEXT._data

    def load(self, state: dict[Any, Any]) -> None:
        _TEXT._data = _BYTES._data = state

    def restore_process(self, states: Iterable[dict[Any, Any]]) -> None:
        """Gives C code the host's variables back, after ranks with these states have ended."""
        changed = {key for state in states for key, _ in state.items() ^ self._host.items()}
        for key in changed:
            if key in self._host:
                os.putenv(key, self._host[key])
            else:
                os.unsetenv(key)


def install(patches: Patches) -> None:
    """Gives the processes that a rank starts the rank's variables, those of ``multiprocessing``
    too.
    """
    patches.around_in_ranks(subprocess.Popen, "__init__", _start_process)
    patches.around_in_ranks(_posixsubprocess, "fork_exec", _execute)


# The index of ``env`` among the arguments of Popen.
_POSITION = 11


def _start_process(start: Any, *arguments: Any, **options: Any) -> None:
    if len(arguments) <= _POSITION and options.get("env") is None:
        options["env"] = os.environ.copy()
    start(*arguments, **options)


# The index of the variables among the arguments of fork_exec; None stands for C's own.
_VARIABLES = 5


def _execute(fork_exec: Any, *arguments: Any) -> Any:
    if arguments[_VARIABLES] is None:
        own = [os.fsencode(k) + b"=" + os.fsencode(v) for k, v in os.environ.items()]
        arguments = (*arguments[:_VARIABLES], own, *arguments[_VARIABLES + 1 :])
    return fork_exec(*arguments)
