"""A swarm of random PyTorch programs. A seed draws one, as text that anybody can run:

python tests/python/swarm_programs.py 17 > program.py
python program.py
"""

from __future__ import annotations

import functools
import inspect
import random
import re
import sys
from dataclasses import dataclass

import swarm_layers as layers
import swarm_wrappers as wrappers
from swarm_choices import Choices, choices_of
from swarm_faults import faults_of

_IMPORTS = """from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DeviceMesh, DTensor, Replicate, Shard, distribute_module
from torch.distributed.tensor.parallel import (
    ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel, loss_parallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

import simmesh
"""


@dataclass(frozen=True)
class Program:
    """A program: its text, the layout that it is compared on, and the verdict that is due.

    ``must`` is the limit that the report must have, "" if all bits are due; ``may`` has limits
    that it may have. ``named`` has texts of which the report of a program with a ``fault`` must
    have one.
    """

    seed: int
    text: str
    layout: dict[str, int]
    must: str = ""
    may: tuple[str, ...] = ()
    fault: str = ""
    named: tuple[str, ...] = ()


#: Every fifth program has a fault.
FAULTY = 5


def program_of(seed: int) -> Program:
    """The program of a seed."""
    chosen = choices_of(seed)
    text = text_of(seed, chosen)
    if seed % FAULTY or chosen.must or chosen.may:
        return Program(seed, text, chosen.layout, chosen.must, chosen.may)
    faults = faults_of(chosen, text)
    # The first is one of all programs, so that it is drawn too often.
    fault = random.Random(f"fault of {seed}").choice(faults[1:] or faults)
    assert text.count(fault.old) == 1, (seed, fault.old)
    changed = text.replace(fault.old, fault.new).replace("swarm:", f"swarm, with {fault.name}:", 1)
    return Program(seed, changed, chosen.layout, fault=fault.name, named=fault.named)


def text_of(seed: int, chosen: Choices) -> str:
    """The text of a program."""
    body = _program(seed, chosen)
    lines = [
        f'"""Program {seed} of the swarm: {chosen.wrapper} over {chosen.layout}."""\n',
        _IMPORTS,
        "WIDTH, HEADS, LENGTH, CLASSES, EXPERTS = "
        f"{layers.WIDTH}, {layers.HEADS}, {layers.LENGTH}, {layers.CLASSES}, {layers.EXPERTS}\n\n",
        *_needed("\n".join(body)),
        *body,
        "",
        "",
        'if __name__ == "__main__":',
        f"    print(simmesh.same_as_one_device(program, layouts=[{chosen.layout}]).text)",
    ]
    return "\n".join(lines) + "\n"


@functools.cache
def _sources() -> dict[str, str]:
    """The sources of all classes and functions by name, in the order of their files."""
    return {
        name: inspect.getsource(each)
        for module in (layers, wrappers)
        for name, each in vars(module).items()
        if getattr(each, "__module__", "") == module.__name__
    }


def _needed(text: str) -> list[str]:
    """The sources that a text uses, and those that these use."""
    used: set[str] = set()
    texts = [text]
    while texts:
        words = set(re.findall(r"\w+", texts.pop()))
        for name in (_sources().keys() & words) - used:
            used.add(name)
            texts.append(_sources()[name])
    return [each + "\n" for name, each in _sources().items() if name in used]


def _program(seed: int, chosen: Choices) -> list[str]:
    """The function that gets the mesh."""
    inputs = {
        "text": f"torch.randint(CLASSES, (2, {chosen.rows}, LENGTH), generator=generator)",
        "vectors": f"torch.randn(2, {chosen.rows}, WIDTH, generator=generator)",
        "pixels": f"torch.randn(2, {chosen.rows}, 3, 4, 4, generator=generator)",
    }[chosen.family]
    converted = "" if chosen.family == "text" else f".to(torch.{chosen.dtype})"
    rank, ranks = (
        ("dist.get_rank()", "mesh.size()")
        if "tp" not in chosen.layout
        else ('mesh["dp"].get_local_rank()', 'mesh["dp"].size()')
    )
    mine = f"simmesh.rows_of({rank}, {ranks}, {chosen.rows})" if chosen.data_dims else "slice(None)"
    forward = ["y = model(x)"]
    if chosen.autocast:
        forward = ['with torch.autocast("cpu", torch.bfloat16):', "    y = model(x)"]
    if chosen.autocast or "param_dtype" in chosen.policy:
        forward.append("y = y.float()")
    forward += [f"loss = {chosen.loss}", "loss.backward()", "losses.append(loss.detach())"]
    if chosen.is_loss_parallel:
        forward = [
            'with loss_parallel() if mesh["tp"].size() > 1 else torch.enable_grad():',
            *(f"    {line}" for line in forward),
        ]
    lines = [
        "def program(mesh: DeviceMesh) -> Any:",
        f"    torch.manual_seed({seed})",
        "    model: Any = Model(",
        f"        {chosen.embed},",
        "        [",
        *(f"            {each}," for each in chosen.layers),
        "        ],",
        f"        {chosen.norm}, {chosen.head}{chosen.options},",
        "    )",
    ]
    if chosen.dtype != "float32":
        lines.append(f"    model = model.to(torch.{chosen.dtype})")
    lines += [f"    {line}" for line in [*chosen.wrap, *chosen.optimizers]]
    lines += [
        f"    generator = torch.Generator().manual_seed({seed})",
        f"    every_x = {inputs}{converted}",
        f"    every_t = {chosen.target}",
        f"    mine = {mine}",
        "    losses = []",
        "    for step in range(2):",
        f"        rows = every_x[step][mine].tensor_split({chosen.micro})",
        f"        wanted = every_t[step][mine].tensor_split({chosen.micro})",
        "        for index, (x, t) in enumerate(zip(rows, wanted)):",
        f"            with syncs(model, index == {chosen.micro - 1}):",
        *(f"                {line}" for line in forward),
    ]
    if chosen.wrapper in ("hand", "ep", "ep_fsdp"):
        lines.append("        add_up(model, mesh)")
    if chosen.clip:
        lines.append(f"        {chosen.clip}")
    lines += [
        "        for optimizer in optimizers:",
        "            optimizer.step()",
        "            optimizer.zero_grad()",
        "    return torch.stack(losses).sum()",
    ]
    return lines


if __name__ == "__main__":
    print(program_of(int(sys.argv[1])).text, end="")
