"""Records the kind ``in_place``: programs of views and changes in place, with their gradients.

tests/cases/pytorch_autograd/README.md describes the steps. Each program begins with four tensors: 0
is a leaf, 1 a leaf without dims, 2 the leaf times 1, 3 plain.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Callable

import torch

from simmesh.recording import ranks

PROGRAMS = 50
_SHAPE = (2, 3)
# Elements stay below, so that all sums are exact.
_LARGEST = 512

#: The refusals, by word, and a phrase that each message of one has.
REFUSALS = {
    "view_of_leaf": "a view of a leaf Variable that requires grad is being used",
    "leaf": "a leaf Variable that requires grad is being used in an in-place operation",
    "one_of_several": "This view is the output of a function that returns multiple views",
    "unrecorded_view": "Given that this use case is ambiguous and error-prone, it is forbidden",
    "saved": "one of the variables needed for gradient computation has been modified",
    "repeated": "more than one element of the written-to tensor refers to a single memory location",
    "overlap": "some elements of the input tensor and the written-to tensor refer to a single",
    "no_gradient": "does not require grad and does not have a grad_fn",
}

Tensors = list[torch.Tensor]

_VIEWS: dict[str, Callable[..., Any]] = {
    "same": lambda x: x,
    "detach": lambda x: x.detach(),
    "flat": lambda x: x.view(-1),
    "column": lambda x: x.view(-1, 1),
    "reshape": lambda x: x.reshape(-1),
    "narrow": lambda x, dim, start, length: x.narrow(dim, start, length),
    "slice": lambda x: x[::2],
    "select": lambda x, dim, index: x.select(dim, index),
    "transpose": lambda x: x.transpose(0, 1),
    "t": lambda x: x.t(),
    "permute": lambda x: x.permute(list(reversed(range(x.dim())))),
    "unsqueeze": lambda x, dim: x.unsqueeze(dim),
    "squeeze": lambda x: x.squeeze(),
    "expand": lambda x: x.expand(2, *x.shape),
    "diagonal": lambda x: x.diagonal(),
    "unbind": lambda x, dim: x.unbind(dim),
    "split": lambda x, dim: x.split(1, dim),
    "chunk": lambda x, dim: x.chunk(2, dim),
}

_CHANGES: dict[str, Callable[..., Any]] = {
    "mul2_": lambda x: x.mul_(2),
    "add2_": lambda x: x.add_(2),
    "half_": lambda x: x.div_(2),
    "neg_": lambda x: x.neg_(),
    "relu_": lambda x: x.relu_(),
    "clamp_": lambda x: x.clamp_(-1, 2),
    "floor_": lambda x: x.floor_(),
    "zero_": lambda x: x.zero_(),
    "fill3_": lambda x: x.fill_(3),
    "fill_": lambda x, other: x.fill_(other),
    "mul_": lambda x, other: x.mul_(other),
    "add_": lambda x, other: x.add_(other),
    "sub_": lambda x, other: x.sub_(other, alpha=2),
    "copy_": lambda x, other: x.copy_(other),
    "addcmul_": lambda x, a, b: x.addcmul_(a, b, value=2),
}

_USES: dict[str, Callable[..., Any]] = {
    "square": lambda x: x * x,
    "double": lambda x: x * 2,
    "times": lambda x, other: x * other,
    "plus": lambda x, other: x + other,
    "relu": lambda x: x.relu(),
}

_CALLS = {**_VIEWS, **_CHANGES, **_USES}


class _Refused(Exception):
    def __init__(self, word: str, at: int) -> None:
        super().__init__(word)
        self.word = word
        self.at = at


def _word_of(error: RuntimeError) -> str:
    return next(word for word, phrase in REFUSALS.items() if phrase in str(error))


def _begin() -> Tensors:
    leaf = torch.arange(-2.0, 4.0).reshape(_SHAPE).clone().requires_grad_()
    factor = torch.tensor(3.0, requires_grad=True)
    return [leaf, factor, leaf * 1, torch.arange(1.0, 7.0).reshape(_SHAPE).clone()]


def _do(step: str, tensors: Tensors) -> None:
    """Does a step: ``narrow@2,0,1,1`` on tensor 2; ``!`` before it disables gradients."""
    name, _, words = step.removeprefix("!").partition("@")
    numbers = [int(word) for word in words.split(",")]
    count = 1
    if name in _CHANGES or name in _USES:
        count = len(numbers)
    arguments = [tensors[number] for number in numbers[:count]]
    with torch.set_grad_enabled(not step.startswith("!")):
        result = _CALLS[name](*arguments, *numbers[count:])
    if name not in _CHANGES:
        tensors.extend([result] if isinstance(result, torch.Tensor) else result)


def _finish(chosen: Sequence[int], tensors: Tensors) -> None:
    """Adds up the chosen tensors, each times its number plus one, and runs a backward pass."""
    loss = torch.zeros(())
    for number in chosen:
        loss = loss + (tensors[number] * (number + 1)).sum()
    loss.backward()


def _hash(tensors: Tensors) -> str:
    """FNV-1a of elements, flags and gradients; a negative zero counts as a positive one."""
    data = bytearray()
    for tensor in tensors:
        values = (tensor.detach() + 0.0).reshape(-1).tolist()
        data += struct.pack(f"<{len(values)}f", *values)
    for tensor in tensors[:2]:
        if tensor.grad is not None:
            values = (tensor.grad + 0.0).reshape(-1).tolist()
            data += struct.pack(f"<{len(values)}f", *values)
    result = 0xCBF29CE484222325
    for byte in data:
        result = (result ^ byte) * 0x100000001B3 % 2**64
    return f"{result:016x}"


def _answered(steps: str) -> dict[str, Any]:
    tensors = _begin()
    *all_but_last, last = steps.split()
    at = 0
    try:
        for step in all_but_last:
            _do(step, tensors)
            at += 1
        _finish([int(word) for word in last.removeprefix("end@").split(",")], tensors)
    except RuntimeError as error:
        return {"steps": steps, "refused": _word_of(error), "at": at}
    return {"steps": steps, "hash": _hash(tensors)}


def answer(case: Mapping[str, Any], settings: ranks.Settings = ranks.Settings()) -> dict[str, Any]:
    """Returns the case with what the installed PyTorch does."""
    return {**case, "programs": [_answered(each["steps"]) for each in case["programs"]]}


def _arguments(name: str, random: Random, tensors: Tensors) -> list[int]:
    """Random arguments of a step, most often tensors that came last."""
    first = 0 if random.random() < 0.05 else 2
    number = random.choice([*range(first, len(tensors)), len(tensors) - 1, random.choice([2, 3])])
    if name in ("narrow", "select", "unbind", "split", "chunk", "unsqueeze"):
        dim = random.randrange(max(tensors[number].dim(), 1))
        size = tensors[number].shape[dim] if tensors[number].dim() > 0 else 1
        start = random.randrange(max(size, 1))
        if name == "narrow":
            return [number, dim, start, random.randint(1, max(size - start, 1))]
        return [number, dim, start] if name == "select" else [number, dim]
    others = {"fill_": 1, "mul_": 1, "add_": 1, "sub_": 1, "copy_": 1, "addcmul_": 2}
    count = others.get(name, 1 if name in ("times", "plus") else 0)
    return [number, *(random.choice([1, 1, *range(len(tensors))]) for _ in range(count))]


def _program(random: Random) -> str:
    """A random program, each step of which fits the shapes of its tensors."""
    shapes = [tensor.detach().clone() for tensor in _begin()]
    steps: list[str] = []
    wanted = random.randint(2, 7)
    while len(steps) < wanted:
        names = list(random.choice([_VIEWS, _VIEWS, _CHANGES, _CHANGES, _CHANGES, _USES]))
        name = random.choice(names)
        words = ",".join(map(str, _arguments(name, random, shapes)))
        step = f"{name}@{words}"
        trial = list(shapes)
        try:
            _do(f"!{step}", trial)
        except (RuntimeError, IndexError) as error:
            if not any(phrase in str(error) for phrase in REFUSALS.values()):
                continue
        if any(tensor.abs().max() > _LARGEST for tensor in trial if tensor.numel() > 0):
            break
        shapes = trial
        steps.append(f"!{step}" if random.random() < 0.08 else step)
    chosen = {random.randrange(2, len(shapes)) for _ in range(random.randint(1, 4))}
    if random.random() < 0.6:
        chosen.add(2)
    return " ".join([*steps, "end@" + ",".join(map(str, sorted(chosen)))])


def question(seed: int, mesh: Sequence[int]) -> dict[str, Any]:
    """Random programs; the mesh plays no part."""
    random = Random(f"in_place {seed}")
    return {
        "kind": "in_place",
        "id": f"recorded/in_place/{seed}",
        "programs": [{"steps": _program(random)} for _ in range(PROGRAMS)],
    }
