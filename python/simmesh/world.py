"""The ranks of a run, as Python functions: simmesh.World."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, TypeVar

from simmesh import _core
from simmesh._core import Outcome

Result = TypeVar("Result")

#: What an exploration says if one run proves all schedules.
CERTIFICATE = (
    "all schedules are equivalent: no receive from any source, no Work.is_completed, no "
    "simmesh.Shared; other variables that ranks share are not watched"
)


@dataclass
class WholeExploration:
    """The result of running a body under one schedule of each class of equivalent ones.

    ``classes`` counts the schedules that were run, one of each class, and ``given_up`` the runs
    that count for nothing: those before a run showed that more matters than was known. ``complete``
    is True if no class is left out; ``estimate`` says how many there are. ``first_failure`` is the
    run that failed, or computed other bits, whose class is reached by the shortest order of events;
    its ``schedule`` runs it again. ``certificate`` says why one run stands for all, if it does.
    """

    classes: int = 0
    given_up: int = 0
    complete: bool = False
    estimate: float = 0.0
    data_hash: int = 0
    one_data_hash: bool = True
    first_failure: Outcome | None = None
    certificate: str = ""

    @property
    def ok(self) -> bool:
        """True if all classes were run, none failed, and all have the same bits."""
        return self.complete and self.one_data_hash and self.first_failure is None


class World:
    """The ranks of a run and the engine that runs them, one at a time, each on a thread.

    It may be run any number of times; each run starts afresh. Equal programs, seeds and arithmetic
    give equal data hashes under every schedule::

        def body(rank: int) -> None:
            mesh = init_device_mesh((2, 2), ("dp", "tp"))
            full = formula((16, 8), seed=1)
            x = distribute_tensor(full, mesh, [Shard(0), Replicate()])
            expect_same_bits(x.redistribute("R,S(1)").full_tensor(), full)

        outcome = World(4, schedule="seeded:42").run(body)
        assert outcome.ok, outcome.report
    """

    def __init__(
        self,
        ranks: int,
        *,
        schedule: str = "fifo",
        seed: int = 0,
        arithmetic: str = "canonical",
        release: str = "2.15",
        timeout: float = 60.0,
    ) -> None:
        """Sets how the ranks run.

        schedule picks the rank that runs next: fifo, seeded, seeded:7, pct:3 or choices:0,1,...;
        arithmetic sets how sums add up: canonical, exact, rank_order, ...; release is the PyTorch
        that is followed. timeout is the seconds of wall time for which a rank may keep its turn; 0:
        any.
        """
        self.ranks = ranks
        self.schedule = schedule
        self.seed = seed
        self.arithmetic = arithmetic
        self.release = release
        self.timeout = timeout

    def run(self, body: Callable[[int], object]) -> Outcome:
        """Runs body(rank) once on every rank and returns when all have ended.

        It doesn't raise the errors of the bodies: the first one is the outcome's failure.
        """
        return self._run(body)

    def explore(self, body: Callable[[int], object], runs_max: int = 100_000) -> WholeExploration:
        """Runs the body under one schedule of each class of equivalent ones, each exactly once.

        Two schedules are equivalent if they differ only in the order of steps that can't see each
        other. Collectives and messages from named senders never depend on the order. Receives from
        any source do, ``Work.is_completed``, and uses of ``simmesh.Shared``. Other variables that
        ranks share aren't watched, and must not be kept from run to run. After ``runs_max`` classes
        the exploration gives up being complete. The schedule of the world is not used.
        """
        search = _core.Search()
        failure: Outcome | None = None
        while not search.done and search.classes < runs_max:
            outcome = self._run(body, search)
            if outcome.kind == "blocked":
                return WholeExploration(search.classes, search.given_up, first_failure=outcome)
            if search.is_failure:
                failure = outcome
            elif not search.has_failure:
                failure = None
        certificate = ""
        if search.done and search.classes == 1 and failure is None and not search.depends_on_order:
            certificate = CERTIFICATE
        return WholeExploration(
            search.classes, search.given_up, search.done, search.estimate, search.data_hash,
            search.one_data_hash, failure, certificate,
        )  # fmt: skip

    def _run(self, body: Callable[[int], object], search: _core.Search | None = None) -> Outcome:
        return _core.run(
            body,
            ranks=self.ranks,
            schedule=self.schedule,
            seed=self.seed,
            arithmetic=self.arithmetic,
            release=self.release,
            timeout=self.timeout,
            reproduce=self._call(body),
            search=search,
        )

    def _call(self, body: Callable[[int], object]) -> str:
        name = getattr(body, "__qualname__", type(body).__qualname__)
        return (
            f"simmesh.World({self.ranks}, schedule={self.schedule!r}, seed={self.seed}, "
            f"arithmetic={self.arithmetic!r}, release={self.release!r}).run({name})"
        )

    def results(self, body: Callable[[int], Result]) -> list[Result]:
        """Runs body(rank) on every rank and returns its results, by rank.

        Raises the error of the first failing rank, in rank order, with the report as its note; for
        another failure a RuntimeError with the report.
        """
        returned: dict[int, Result] = {}

        def keep(rank: int) -> None:
            returned[rank] = body(rank)

        raise_failure(self.run(keep))
        return [returned[rank] for rank in range(self.ranks)]


def raise_failure(outcome: Outcome) -> None:
    """Raises the failure of a run; does nothing if there is none."""
    if outcome.ok:
        return
    if outcome.exception is None:
        raise RuntimeError(outcome.report)
    if hasattr(outcome.exception, "add_note"):
        outcome.exception.add_note(outcome.report)
    raise outcome.exception
