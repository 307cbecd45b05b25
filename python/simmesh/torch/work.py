"""The handle of a started operation, as torch's programs and its C++ code see it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Callable

import torch
import torch.distributed as dist

from simmesh import _core
from simmesh.torch import rank_state
from simmesh.torch.rank_future import RankFuture

# torch's C++ code passes this where the caller named no time.
_NO_TIMEOUT = timedelta(0)


class RankWork(dist.Work):
    """A Work whose wait gives the turn to other ranks."""

    def __init__(
        self,
        operations: Sequence[_core.Operation],
        results: Sequence[Any] = (),
        source: Callable[[], int | None] | None = None,
        timeout: float | None = None,
        what: str = "an operation",
        ends_one_wait: bool = False,
    ) -> None:
        super().__init__()
        self._what = what
        self._ends_one_wait = ends_one_wait
        self._was_waited_for = False
        self.operations = tuple(operations)
        self.results = list(results)
        self._source = source
        self._timeout = timeout
        self._future: RankFuture | None = None

    def wait(self, timeout: timedelta = _NO_TIMEOUT) -> bool:
        """Blocks until the operation is complete; raises RuntimeError after ``timeout`` of virtual
        time, and at a second wait for a message of gloo, which none ends.
        """
        seconds = self._timeout
        if timeout is not None and timeout > _NO_TIMEOUT:
            seconds = timeout.total_seconds()
        if self._ends_one_wait and self._was_waited_for:
            raise RuntimeError(
                f"[torch/work] rank {rank_state.of_rank().rank}: expected one wait for "
                f"{self._what}, got a second one at {_core.call_site()}: gloo's messages end one "
                "wait each, so this one would hang until its timeout"
            )
        self._finish(seconds)
        self._was_waited_for = True
        return True

    def is_completed(self) -> bool:
        """Returns whether the operation is complete. This is a point of the schedule: others may
        run before it.
        """
        _core.yield_now()
        return self._ended()

    def is_success(self) -> bool:
        return self._ended()

    def exception(self) -> None:
        return None

    def synchronize(self) -> None:
        self._finish(self._timeout)

    def block_current_stream(self) -> None:
        self._finish(self._timeout)

    def result(self) -> list[torch.Tensor]:
        self._finish(self._timeout)
        return self.results

    def source_rank(self) -> int | None:
        """Returns the rank in the group from which a receive got its tensor."""
        self._finish(self._timeout)
        if self._source is None:
            raise RuntimeError("[torch/work] expected a receive, got an operation without a source")
        return self._source()

    _source_rank = source_rank

    def get_future(self) -> torch.futures.Future[list[torch.Tensor]]:
        """A future of the results.

        In a backward pass it is complete: the caller may be torch's C++ code, which can't give the
        turn away while it waits for a future.
        """
        if self._future is None:
            # The future lives on after its end, so it must not refer to this work.
            use = functools.partial(rank_state.of_rank().ended, self.operations)
            self._future = RankFuture(
                self._has_ended, lambda: self._block(self._timeout), lambda: self.results, use
            )
        if torch._C._current_graph_task_id() != -1:
            self._future.complete()
            rank_state.of_rank().ended(self.operations, until_backward_ends=True)
        return self._future

    def _finish(self, seconds: float | None) -> None:
        self._block(seconds)
        state = rank_state.of_rank()
        state.ended(self.operations)
        state.poll_futures()

    def _block(self, seconds: float | None) -> None:
        for operation in self.operations:
            if not operation.wait(seconds):
                milliseconds = f"{0.0 if seconds is None else seconds * 1000:g}"
                raise RuntimeError(
                    f"[torch/work] rank {rank_state.of_rank().rank}: Timed out waiting "
                    f"{milliseconds}ms for {self._what} at {_core.call_site()}"
                )

    def _ended(self) -> bool:
        has_ended = self._has_ended()
        if has_ended:
            rank_state.of_rank().ended(self.operations)
        return has_ended

    def _has_ended(self) -> bool:
        return all(operation.is_completed() for operation in self.operations)
