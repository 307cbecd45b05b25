"""Silent faults that are put into programs of the swarm."""

from __future__ import annotations

import re
from dataclasses import dataclass

from swarm_choices import Choices


@dataclass(frozen=True)
class Fault:
    """A silent fault: what it is, one of the texts that the report must have, and the change of
    the program: a text and the one that takes its place.
    """

    name: str
    named: tuple[str, ...]
    old: str
    new: str


def faults_of(chosen: Choices, text: str) -> list[Fault]:
    """The faults that a program can have."""
    step = "        for optimizer in optimizers:\n            optimizer.step()"
    scale = (
        "for each in model.parameters():\n            each.grad *= 0.75 if mesh.size() > 1 else 1"
    )
    found = [
        Fault("a wrong scale", ("times one device's",), step, f"        {scale}\n{step}"),
    ]
    added = "        add_up(model, mesh)"
    if chosen.wrapper in ("hand", "ep"):
        names = ["embed.weight"]
        if chosen.wrapper == "ep":
            names.append(f"layers.{len(chosen.layers) - 1}.body.router.weight")
        found += [
            Fault(
                "no all-reduce", (f"gradient of {name}, ",), added,
                f'        add_up(model, mesh, but="{name}")',
            )
            for name in names
        ]  # fmt: skip
        seeds = re.search(r"    torch.manual_seed\(\d+\)", text)
        assert seeds is not None
        found.append(
            Fault("own seeds", ("initial parameter embed.weight",), seeds[0],
                  "    torch.manual_seed(mesh.get_rank())")
        )  # fmt: skip
    if chosen.wrapper in ("hand", "ddp"):
        name = "embed.weight"
        drift = "if mesh.get_rank() == 1:\n            next(model.parameters()).data.mul_(0.5)"
        found.append(
            Fault(
                "drift",
                (f"parameter {name}, ", "output of embed, "),
                step,
                f"{step}\n        {drift}",
            )
        )
    if chosen.wrapper == "ddp":
        found.append(
            Fault("never synchronized", ("gradient of embed.weight",),
                  f"syncs(model, index == {chosen.micro - 1})", "syncs(model, False)")
        )  # fmt: skip
    if chosen.wrapper in ("fsdp", "hsdp"):
        found.append(_stale(chosen, text))
    if chosen.data_ranks > 1 and chosen.rows % chosen.data_ranks == 0:
        mine = re.search(r"simmesh.rows_of\(([^,]+\)), ", text)
        assert mine is not None
        found.append(
            Fault("the rows of another rank", ("output of embed",), mine[0], "simmesh.rows_of(0, ")
        )
    if chosen.wrapper == "sp":
        found.append(_whole_part(step))
    return found


def _stale(chosen: Choices, text: str) -> Fault:
    """An optimizer that is made before the model is sharded."""
    wrap = "".join(f"    {line}\n" for line in chosen.wrap)
    made = "\n".join(f"    {line}" for line in chosen.optimizers)
    return Fault("stale optimizer", ("parameters that belong to no module",),
                 wrap + made, made + "\n" + wrap.rstrip("\n"))  # fmt: skip


def _whole_part(step: str) -> Fault:
    """A gradient of a norm that is a part of a sum, and passes for a whole one."""
    change = """        if mesh.size() > 1:
            part = model.norm.weight.grad
            whole = DTensor.from_local(part.to_local(), mesh, [Replicate()], run_check=False)
            model.norm.weight.grad = whole
"""
    return Fault("a part taken for a whole", ("gradient of norm.weight, ",), step, change + step)
