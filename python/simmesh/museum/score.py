"""Runs exhibits, and says what was found in them."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from simmesh.museum.collection import Card

_FOLLOWING = ("after it, ", "not compared", "schedule: ", "rank 0 failed: ", "chain: ")
_EXCERPT_MAX = 6


@dataclass(frozen=True)
class Score:
    """The result of an exhibit: the finding in the wrong program, that in the right one (both empty
    where there is none), whether the first names what is at fault, and the seconds that both took.
    """

    name: str
    hall: str
    finding: str
    noise: str
    named: bool
    seconds: float

    @property
    def ok(self) -> bool:
        """True if the bug was found, and nothing in the right program."""
        return bool(self.finding) and not self.noise

    @property
    def line(self) -> str:
        """The score in a line."""
        words = "found" if self.finding else "MISSED"
        if self.finding and not self.named:
            words += ", NOT NAMED"
        if self.noise:
            words += ", NOISE"
        return f"{words} {self.hall}/{self.name} ({self.seconds:.1f} s)"


def score(card: Card, seed: int = 0) -> Score:
    """Runs an exhibit's programs; ``seed`` is added to the seeds of their data."""
    exhibit = card.load(seed)
    began = time.perf_counter()
    finding, noise = (
        _own_lines(exhibit.check.find(program)) for program in (exhibit.wrong, exhibit.right)
    )
    seconds = time.perf_counter() - began
    return Score(card.name, card.hall, finding, noise, names(finding, card), seconds)


def _own_lines(finding: str | None) -> str:
    """A finding without the line that reproduces it, which calls the museum's own function."""
    lines = (finding or "").splitlines()
    return "\n".join(line for line in lines if not line.startswith("reproduce: "))


def excerpt(finding: str) -> list[str]:
    """The first lines of a finding: what differs and where, without what follows."""
    found = []
    for line in finding.splitlines()[:_EXCERPT_MAX]:
        if line.strip().startswith(_FOLLOWING):
            break
        found.append(line)
    return found


def warm_up() -> None:
    """Lets the first exhibits take no longer than others: imports what checks and programs need,
    which takes seconds where a machine reads it for the first time.
    """
    import torch
    import torch._dynamo  # by the first optimizer or DTensor
    import torch.distributed as dist
    import torch.distributed.checkpoint.state_dict
    from torch.distributed.tensor import Shard, distribute_tensor

    import simmesh
    import simmesh.rules.trial

    def program(mesh: Any) -> int:
        total = torch.nn.Linear(2, 2)(torch.ones(2, 2)).sum()
        dist.all_reduce(total.detach(), group=mesh.get_group())
        total.backward()
        distribute_tensor(torch.ones(2, 2), mesh, [Shard(1)]).log_softmax(-1)
        return dist.get_rank()

    with contextlib.suppress(simmesh.DiffersFromOneDevice):
        simmesh.same_as_one_device(program, ranks=2)


def names(finding: str, card: Card) -> bool:
    """True if a finding names what is at fault. Values that differ because of the first one don't
    count.
    """
    told = [line for line in finding.splitlines() if not line.strip().startswith("after it, ")]
    text = "\n".join(told)
    places = [f"{card.name}.py:{number}" for number in card.lines_at_fault]
    return card.at_fault in text or any(_has_place(text, place) for place in places)


def _has_place(text: str, place: str) -> bool:
    rest = text.split(place)[1:]
    return any(not each[:1].isdigit() for each in rest)


def scores(cards: Sequence[Card], jobs: int = 1, seed: int = 0) -> Iterator[Score]:
    """The scores of exhibits, in their order. Several jobs are as many processes. Raises
    RuntimeError for a process that ends without its scores.
    """
    if jobs == 1 or len(cards) < 2:
        warm_up()
        for card in cards:
            yield score(card, seed)
        return
    command = [sys.executable, "-m", "simmesh", "museum", "run", "--json", "--seed", str(seed)]
    parts = [[card.name for card in cards[job::jobs]] for job in range(min(jobs, len(cards)))]
    running = [
        subprocess.Popen([*command, *names], stdout=subprocess.PIPE, text=True) for names in parts
    ]
    found = {each["name"]: Score(**each) for process in running for each in _result_of(process)}
    for card in cards:
        yield found[card.name]


def _result_of(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    output = process.communicate()[0]
    try:
        result: list[dict[str, Any]] = json.loads(output)["exhibits"]
    except json.JSONDecodeError:
        raise RuntimeError(
            "[museum] expected the scores of a process, got none: it ended with status "
            f"{process.returncode}"
        ) from None
    return result


def as_json(found: Sequence[Score]) -> str:
    """The scores as a JSON object."""
    return json.dumps({"exhibits": [asdict(each) for each in found], **totals(found)})


def totals(found: Sequence[Score]) -> dict[str, float]:
    """Counts over all exhibits."""
    return {
        "total": len(found),
        "found": sum(bool(each.finding) for each in found),
        "noisy": sum(bool(each.noise) for each in found),
        "named": sum(each.named for each in found),
        "seconds": round(sum(each.seconds for each in found), 1),
        "longest": round(max((each.seconds for each in found), default=0.0), 1),
    }
