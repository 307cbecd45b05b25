"""Futures of operations, for Python code: they complete when the operation does, not before."""

from __future__ import annotations

from typing import Any, Callable

import torch

from simmesh import _core
from simmesh.torch import rank_state
from simmesh.torch.isolation.patches import Patches


class RankFuture(torch.futures.Future):  # type: ignore[type-arg]
    """A Future whose wait gives the turn to other ranks.

    ``is_ready`` is true if ``value`` may be called, and ``block`` waits until it may. Callbacks run
    on the rank's thread, when it next starts or ends an operation or looks at the future. ``use``
    is called when Python code takes the value or waits for it.
    """

    def __init__(
        self,
        is_ready: Callable[[], bool],
        block: Callable[[], Any],
        value: Callable[[], Any],
        use: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__()
        self._use = use
        self._is_ready = is_ready
        self._block = block
        self._value = value
        self.has_begun = False
        self.seat = _core.seat()
        rank_state.of_rank().futures.append(self)

    def poll(self) -> bool:
        """Completes the future if it is ready; returns whether it is complete."""
        if not self.has_begun and self._is_ready():
            self._finish()
        return bool(super().done())

    def done(self) -> bool:
        return self.poll()

    def wait(self) -> Any:
        self.complete()
        self._use()
        return super().wait()

    def value(self) -> Any:
        self.poll()
        self._use()
        return super().value()

    def then(self, callback: Callable[[Any], Any]) -> RankFuture:  # type: ignore[override]
        child = RankFuture(self.poll, self.complete, lambda: callback(self))
        child.poll()
        return child

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        self.then(callback)

    def complete(self) -> None:
        """Blocks until the future is complete. An error of its value is kept for ``wait``."""
        if not self.has_begun:
            self._block()
            self.poll()

    def _finish(self) -> None:
        self.has_begun = True
        value = self._value
        # They may refer to a work that refers to this future.
        del self._is_ready, self._block, self._value
        try:
            result = value()
        except Exception as error:
            self.set_exception(error)
        else:
            self.set_result(result)


def install(patches: Patches) -> None:
    """Lets ranks that wait for any other future, such as one of C++ code, give the turn away."""
    patches.around_in_ranks(torch._C.Future, "wait", _wait)


def _wait(wait_in_torch: Any, future: Any) -> Any:
    while not future.done():
        pending = rank_state.of_rank().pending_futures()
        if not pending:
            break
        pending[0].complete()
    return wait_in_torch(future)
