"""The rivals of the museum's score: each looks at a program of an exhibit and says what it finds.

LocalTensor, the threaded process group and gloo run a program, and find what raises or doesn't end.
The tolerance test compares what gloo's ranks end with with one process, to a relative difference of
1e-4, and the hashes of DebugMode compare the same values. Where ranks hold pieces, both are given
simmesh's search for the layout, which their users would write by hand.
"""

from __future__ import annotations

import math
import multiprocessing
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from museum_runs import HANGS_AFTER, Job, Outcome, Values, serve
from simmesh.museum import checks
from simmesh.museum.collection import Card
from simmesh.one_device.layout import Layout
from simmesh.one_device.search import Allowed, find
from simmesh.one_device.snapshot import Exact

TOLERANCE = 1e-4
STARTS_AFTER = 300.0  # a process imports PyTorch first
_PENDING = ("returned value", "noted value")


class Worker:
    """A process that runs jobs. It is made anew after a job that doesn't end."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.process: Any = None
        self.connection: Any = None
        self.has_run = False

    def start(self, job: Job) -> None:
        """Sends a job."""
        if self.process is None or not self.process.is_alive():
            context = multiprocessing.get_context("spawn")
            self.connection, other = context.Pipe()
            self.process = context.Process(target=serve, args=(other, self.run), daemon=True)
            self.process.start()
            other.close()
            self.has_run = False
        self.connection.send(job)

    def outcome(self) -> Outcome:
        """The outcome of the job that was sent."""
        try:
            if self.connection.poll(3 * HANGS_AFTER + STARTS_AFTER * (not self.has_run)):
                outcome: Outcome = self.connection.recv()
                self.has_run = True
                if "did not end" not in outcome.error:
                    return outcome
        except EOFError:
            pass
        self.stop()
        return Outcome("TimeoutError: the program did not end, or its process died")

    def stop(self) -> None:
        """Ends the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


@dataclass(frozen=True)
class Part:
    """A run of an exhibit's program: on a layout, until a step."""

    layout: Mapping[str, int]
    steps: int | None = None


def parts_of(check: Any) -> list[Part]:
    """The runs that a check asks for; none for a rule or types, which are no programs on ranks."""
    if isinstance(check, checks.Resumed):
        return [Part(layout, steps) for layout, steps in zip(check.layouts, check.steps)]
    if isinstance(check, checks.SameAsOneDevice) and check.layouts:
        return [Part(check.layouts[0])]
    if isinstance(check, (checks.Replicas, checks.SameCheckpoint)) and check.layout:
        return [Part(check.layout)]
    if isinstance(check, (checks.Rule, checks.Typed)):
        return []
    return [Part({"dp": check.ranks})]


@dataclass
class Rivals:
    """All rivals. ``findings`` returns what each finds in a program, by its name; "" for nothing,
    and None where it can't look at the program.
    """

    gloo: list[Worker] = field(default_factory=lambda: [Worker("gloo") for _ in range(8)])
    others: dict[str, Worker] = field(
        default_factory=lambda: {run: Worker(run) for run in ("local_tensor", "threads")}
    )

    def findings(self, card: Card, variant: str) -> dict[str, str | None]:
        """The finding of each rival."""
        check = card.load().check
        parts = parts_of(check)
        if not parts:
            return dict.fromkeys(NAMES, None)
        found: dict[str, str | None] = {}
        for run, worker in self.others.items():
            found[run] = self._alone(worker, card, variant, check, parts)
        found["spmd_types"] = self._error(self._on_gloo(card, variant, check, parts, True))
        ranks = self._on_gloo(card, variant, check, parts)
        found["gloo DETAIL"] = self._error(ranks)
        one = self._one_process(card, variant, check, parts)
        for name, tolerance in (("tolerance 1e-4", TOLERANCE), ("DebugMode hashes", 0.0)):
            found[name] = found["gloo DETAIL"] or difference(check, one, ranks, parts, tolerance)
        return found

    def _alone(
        self, worker: Worker, card: Card, variant: str, check: Any, parts: Sequence[Part]
    ) -> str:
        with _folder() as place:
            for part in parts:
                worker.start(_job(card, variant, check, part, place))
                error = worker.outcome().error
                if error:
                    return error
        return ""

    def _on_gloo(
        self, card: Card, variant: str, check: Any, parts: Sequence[Part], is_typed: bool = False
    ) -> list[Outcome]:
        with _folder() as place:
            for part in parts:
                job = replace(_job(card, variant, check, part, place), is_typed=is_typed)
                workers = self.gloo[: math.prod(part.layout.values())]
                for rank, worker in enumerate(workers):
                    worker.start(replace(job, rank=rank))
                outcomes = [worker.outcome() for worker in workers]
                if any(each.error for each in outcomes):
                    break
        return outcomes

    def _one_process(
        self, card: Card, variant: str, check: Any, parts: Sequence[Part]
    ) -> Outcome:  # fmt: skip
        alone = replace(parts[-1], layout=dict.fromkeys(parts[-1].layout, 1))
        return self._on_gloo(card, variant, check, [alone])[0]

    @staticmethod
    def _error(outcomes: Sequence[Outcome]) -> str:
        errors = [each.error for each in outcomes if each.error]
        return errors[0] if errors else ""

    def stop(self) -> None:
        """Ends all processes."""
        for worker in [*self.gloo, *self.others.values()]:
            worker.stop()


NAMES = (
    "local_tensor", "threads", "spmd_types", "gloo DETAIL", "tolerance 1e-4", "DebugMode hashes",
)  # fmt: skip


class _folder(tempfile.TemporaryDirectory[str]):
    """A folder that is removed, also where a killed process still writes into it."""

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self.name, ignore_errors=True)
        self._finalizer.detach()  # type: ignore[attr-defined]


def _job(card: Card, variant: str, check: Any, part: Part, place: str) -> Job:
    has_folder = isinstance(check, (checks.Resumed, checks.SameCheckpoint))
    return Job(
        card.name, variant, dict(part.layout), place, steps=part.steps, has_folder=has_folder
    )


def difference(
    check: Any, one: Outcome, ranks: Sequence[Outcome], parts: Sequence[Part], tolerance: float
) -> str:
    """The first value of the ranks that isn't one process's, or isn't the same on replicas."""
    if not isinstance(check, (checks.SameAsOneDevice, checks.Replicas, checks.Resumed)):
        return ""  # the program has no result to compare
    layout = Layout(tuple(parts[-1].layout), tuple(parts[-1].layout.values()))
    values = [each.values for each in ranks]
    if isinstance(check, checks.Replicas):
        over = [layout.names.index(name) for name in check.over or layout.names]
        return _of_replicas(values, layout, over, tolerance)
    return _of_one_process(one.values, values, layout, tolerance)


def _of_one_process(
    one: Values, ranks: Sequence[Values], layout: Layout, tolerance: float
) -> str:  # fmt: skip
    for name, expected in one.items():
        got = [None if name not in each else Exact(each[name]) for each in ranks]
        if all(each is None for each in got):
            continue
        allowed = Allowed(pending=name.startswith(_PENDING), tolerance=tolerance, equal_parts=True)
        if find(Exact(expected), got, layout, allowed) is None:
            return f"{name} differs from one process's"
    return ""


def _of_replicas(
    ranks: Sequence[Values], layout: Layout, over: Sequence[int], tolerance: float
) -> str:  # fmt: skip
    for name in ranks[0]:
        first: dict[tuple[int, ...], torch.Tensor] = {}
        for rank, values in enumerate(ranks):
            place = tuple(at for dim, at in enumerate(layout.coordinates(rank)) if dim not in over)
            expected = first.setdefault(place, values.get(name, torch.empty(0)))
            got = values.get(name)
            if name.startswith("returned") or got is None:
                continue
            if got.shape != expected.shape or not _close(got, expected, tolerance):
                return f"{name} differs between ranks"
    return ""


def _close(got: torch.Tensor, expected: torch.Tensor, tolerance: float) -> bool:
    if tolerance == 0.0:
        return torch.equal(got, expected)
    return torch.allclose(got, expected, rtol=tolerance, equal_nan=True)


Finder = Callable[[Card, str], dict[str, "str | None"]]
