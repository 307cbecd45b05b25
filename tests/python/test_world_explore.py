"""World.explore: each class of equivalent schedules of a Python world is run once."""

from __future__ import annotations

import pytest

import simmesh
from exploration_programs import Seen, all_results, program
from simmesh import _core

# The classes of each program, as the C++ tests count them or as they are counted by hand: the
# orders of the users of each object, of messages that one receive could take, and the answers.
CLASSES = [
    (("b", "b"), 1),
    (("cw", "cw", "cw"), 1),
    (("1w", "Nw"), 1),
    (("x", "x"), 2),
    (("x", "x", "x"), 6),
    (("xx", "xx"), 6),
    (("xy", "xy"), 4),
    (("xy", "yx"), 3),
    (("xb", "bx"), 1),
    (("rw", "0w"), 1),
    (("rrw", "0w", "0w"), 2),
    (("cqw", "cw"), 2),
    (("cqw", "cw", "cw"), 4),
    (("cqw", "cw", "cw", "cw"), 8),
    (("sx", "x"), 1),
    (("sx", "sx"), 2),
    (("xf", "x"), 2),
]


@pytest.mark.parametrize(("lines", "classes"), CLASSES, ids=lambda each: "|".join(each)
                         if isinstance(each, tuple) else str(each))  # fmt: skip
def test_counts_classes(lines: tuple[str, ...], classes: int) -> None:
    """Would fail if a class were left out or run twice."""
    found = simmesh.World(len(lines)).explore(program(*lines))
    assert found.complete
    assert (found.first_failure is None or found.one_data_hash is False) or "f" in "".join(lines)
    assert (found.classes, found.estimate) == (classes, classes)


RESULTS = [
    ("x", "xy", "y"), ("xx", "x"), ("xyx", "yx"), ("rrw", "0w", "0w"), ("cqw", "cw"),
    ("rqw", "0w"), ("1w", "rqw"), ("xb", "xb"), ("sx", "x"), ("sx", "sx"), ("xf", "x"),
    ("rqrw", "0", "0w"), ("cqxw", "xcw"),
]  # fmt: skip


@pytest.mark.parametrize("lines", RESULTS, ids="|".join)
def test_sees_what_all_schedules_show(lines: tuple[str, ...]) -> None:
    """Would fail if an exploration didn't see a result that some schedule gives."""
    seen = Seen(program(*lines), len(lines))
    results: set[str] = set()
    search = _core.Search()
    while not search.done:
        outcome = _core.run(seen, ranks=len(lines), search=search)
        assert outcome.ok or "f" in "".join(lines), outcome.report
        results.add(seen.take())
    assert results == all_results(lines)


def test_failure_is_the_shortest_and_runs_again() -> None:
    """Would fail if the schedule of the failure weren't that of the run, split or not."""

    def lost_update(rank: int) -> None:
        value = counter.get()
        counter.set(value + 1)
        simmesh.barrier()
        _core.record(counter.get())

    counter = simmesh.Shared("counter", 0)
    found = simmesh.World(2).explore(lost_update)
    assert found.complete and not found.one_data_hash and not found.ok
    failure = found.first_failure
    assert failure is not None
    again = simmesh.World(2, schedule=failure.schedule).run(lost_update)
    assert again.data_hash == failure.data_hash != found.data_hash

    def asks(rank: int) -> None:
        work = simmesh.all_reduce_async(simmesh.zeros((1,)))
        if rank == 0:
            complete = work.is_completed()
            assert not complete, "was complete"
        work.wait()

    failure = simmesh.World(2).explore(asks).first_failure
    assert failure is not None and failure.message.startswith("AssertionError")
    assert failure.schedule.startswith("choices:split:")
    assert simmesh.World(2, schedule=failure.schedule).run(asks).message == failure.message


def test_certificate_only_where_nothing_depends_on_the_order() -> None:
    """Would fail if one run were said to stand for all where it doesn't."""
    certain = simmesh.World(3).explore(program("cwb", "cwb", "cwb"))
    assert certain.ok and certain.certificate.startswith("all schedules are equivalent")
    for lines in [("xb", "b"), ("rw", "0w"), ("cqw", "cw"), ("f", "")]:
        assert not simmesh.World(len(lines)).explore(program(*lines)).certificate, lines


def test_limit_is_told() -> None:
    """Would fail if an exploration that gave up counted as complete."""
    found = simmesh.World(4).explore(program("x", "x", "x", "x"), runs_max=5)
    assert not found.complete and not found.ok
    assert found.classes == 5 and found.estimate >= 5
