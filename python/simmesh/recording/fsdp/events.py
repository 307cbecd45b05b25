"""Records the kind ``fsdp_events``: what ``fully_shard`` does in each step of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

from torch import nn

from simmesh.recording import ranks
from simmesh.recording.fsdp import nodes, observation, sharding
from simmesh.recording.fsdp.event_log import EventLog
from simmesh.recording.fsdp.program import Program

ANSWERS = ("totals", "ranks_agree")
_COUNTED = ("all_gather", "reduce_scatter", "all_reduce")


def answer(
    case: Mapping[str, Any],
    settings: ranks.Settings = ranks.Settings(),
    build: Callable[[Mapping[str, Any]], nn.Module] = nodes.build,
) -> dict[str, Any]:
    """Returns the case with PyTorch's events of each step, and the totals."""
    steps = [
        {name: value for name, value in step.items() if name != "events"}
        for step in case["program"]
    ]

    def body(rank: int) -> list[list[list[Any]]]:
        model = build(case)
        log = EventLog(model)
        with observation.logged(log):
            sharding.shard(model, case)
            program = Program(model, case.get("dtype", "float32"))
            of_step = []
            for step in steps:
                begin = len(log.events)
                program.run(step)
                of_step.append(log.events[begin:])
        return of_step

    with observation.observed():
        results = ranks.on_ranks(body, case["world"], settings)
    first = results[0]
    words = [event[0] for events in first for event in events]
    return {
        **case,
        "program": [{**step, "events": events} for step, events in zip(steps, first)],
        "totals": {name: words.count(name) for name in _COUNTED},
        "ranks_agree": all(result == first for result in results),
    }
