"""Writes pickles of random values, in every protocol, with the JSON that a reader makes of them.

usage: record_pickles.py FILE        writes tests/checkpoint/torch_file/pickles.jsonl
"""

import argparse
import collections
import datetime
import decimal
import enum
import fractions
import io
import json
import pathlib
import pickle
import random
import sys
import types
from typing import Any, Callable

import numpy
import torch

Json = Any
INTEGERS = ["<i1", "<i2", ">i4", "<i8", "<u1", "<u4", "<u8"]
DTYPES = ["?", *INTEGERS, "<f2", "<f4", ">f4", "<f8", "<c8", "<c16", "<U3", "O"]


class Phase(enum.Enum):
    """An enum of the program."""

    TRAIN = 1
    TEST = "test"


class Progress:
    """An object of the program, whose state isn't read."""

    def __init__(self, step: int) -> None:
        self.step = step


class Settings(dict[str, int]):
    """A mapping of the program."""


def tagged(tag: str, value: Json) -> Json:
    return {"$" + tag: value}


class Values:
    """Draws values, each with its JSON."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self) -> str:
        letters = "ab'\"\\\n\t\u00e9\u20ac\U0001f600 $"
        return "".join(self.random.choice(letters) for _ in range(self.random.randrange(6)))

    def integer(self) -> int:
        sign = self.random.choice([1, -1])
        return sign * self.random.getrandbits(self.random.choice([1, 8, 16, 31, 32, 63, 64, 200]))

    def data(self) -> bytes:
        return self.random.randbytes(self.random.choice([0, 1, 5, 300]))

    def integer_json(self, value: int) -> Json:
        is_wide = not -(2**63) <= value < 2**63
        return tagged("integer", str(value)) if is_wide else value

    def plain(self) -> tuple[Any, Json]:
        integer, number, text = self.integer(), self.random.uniform(-9, 9), self.text()
        return self.random.choice(
            [
                (None, None),
                (True, True),
                (False, False),
                (integer, self.integer_json(integer)),
                (number, number),
                (text, text),
            ]
        )

    def bytes_value(self) -> tuple[Any, Json]:
        data = self.data()
        made = self.random.choice([bytes, bytearray, io.BytesIO])
        return made(data), tagged("bytes", data.hex())

    def moment(self) -> tuple[Any, Json]:
        draw = self.random.randrange
        offset = datetime.timezone(datetime.timedelta(minutes=draw(-800, 800)))
        zone = self.random.choice([None, offset])
        time = datetime.datetime(
            draw(1, 9999), draw(1, 13), draw(1, 29), draw(24), draw(60), draw(60), 0, zone
        )
        time = time.replace(microsecond=self.random.choice([0, draw(1000000)]))
        delta = datetime.timedelta(draw(-99, 99), draw(86400), draw(1000000))
        return self.random.choice(
            [
                (time, time.isoformat()),
                (time.timetz(), time.timetz().isoformat()),
                (time.date(), time.date().isoformat()),
                (delta, tagged("timedelta", [delta.days, delta.seconds, delta.microseconds])),
            ]
        )

    def library(self) -> tuple[Any, Json]:
        draw = self.random.randrange
        number = complex(self.random.uniform(-9, 9), draw(9))
        ends = [draw(9), draw(9), draw(1, 9)]
        path = "/".join(self.random.choice(["a", "b.c", "d"]) for _ in range(3))
        return self.random.choice(
            [
                (number, tagged("complex", [number.real, number.imag])),
                (range(*ends), tagged("range", ends)),
                (slice(ends[0], None, ends[2]), tagged("slice", [ends[0], None, ends[2]])),
                (pathlib.PurePosixPath("/" + path), "/" + path),
                (pathlib.PurePosixPath(path), path),
                (pathlib.PureWindowsPath("C:/" + path), "C:\\" + path.replace("/", "\\")),
                (decimal.Decimal(ends[0]) / 8, str(decimal.Decimal(ends[0]) / 8)),
                (fractions.Fraction(*ends[::2]), str(fractions.Fraction(*ends[::2]))),
                (Phase.TRAIN, tagged("instance", {"class": "train.Phase", "value": 1})),
                (Phase.TEST, tagged("instance", {"class": "train.Phase", "value": "test"})),
                (Progress(3), tagged("opaque", "train.Progress")),
                (Progress, tagged("opaque", "train.Progress")),
                (len, tagged("opaque", "builtins.len")),
                (torch.bfloat16, "torch.bfloat16"),
                (torch.device("cuda", 1), "cuda:1"),
                (torch.Size([2, 3]), [2, 3]),
            ]
        )

    def array(self) -> tuple[Any, Json]:
        name = self.random.choice(DTYPES)
        shape = self.random.choice([(3,), (2, 3), (0, 2), (2, 1, 2), ()])
        count = int(numpy.prod(shape))
        array = numpy.array([self.random.randrange(100) for _ in range(count)]).astype(name)
        if name == "<u8" and count > 0:
            array[0] = 2**64 - 1
        array = array.reshape(shape)
        if len(shape) == 2 and self.random.random() < 0.5:
            array = numpy.asfortranarray(array)
        values = [self.element(value) for value in array.reshape(-1, order="C")]
        if shape == () and name != "O":
            return array[()], values[0]
        dtype = array.dtype.str
        return array, tagged("array", {"dtype": dtype, "shape": list(shape), "values": values})

    def element(self, value: Any) -> Json:
        if isinstance(value, numpy.complexfloating):
            return tagged("complex", [float(value.real), float(value.imag)])
        plain = value.item() if isinstance(value, numpy.generic) else value
        return self.integer_json(plain) if isinstance(plain, int) and plain > 1 else plain

    def sequence(self, depth: int) -> tuple[Any, Json]:
        drawn = [self.value(depth - 1) for _ in range(self.random.randrange(4))]
        values, json_values = [value for value, _ in drawn], [entry for _, entry in drawn]
        made: Callable[[Any], Any] = self.random.choice([list, tuple, collections.deque])
        return made(values), json_values

    def unordered(self) -> tuple[Any, Json]:
        values = {self.random.randrange(9) for _ in range(self.random.randrange(4))}
        made: Any = self.random.choice([set, frozenset])(values)
        return made, list(made)

    def mapping(self, depth: int) -> tuple[Any, Json]:
        drawn = {f"k{i}": self.value(depth - 1) for i in range(self.random.randrange(4))}
        values = {key: value for key, (value, _) in drawn.items()}
        entries = {key: entry for key, (_, entry) in drawn.items()}
        kind = self.random.randrange(7)
        if kind == 0:
            return collections.OrderedDict(values), entries
        if kind == 1:
            return collections.defaultdict(int, values), entries
        if kind == 2 and values:
            return argparse.Namespace(**values), entries
        if kind == 3 and values:
            return types.SimpleNamespace(**values), entries
        if kind == 4 and values:
            return Settings(values), entries
        if kind == 5:
            return {"$bytes": 1}, {"$$bytes": 1}
        pairs = [[i, entry] for i, entry in enumerate(entries.values())]
        if not pairs:
            return {}, {}
        return dict(enumerate(values.values())), tagged("dict", pairs)

    def value(self, depth: int) -> tuple[Any, Json]:
        draws = [self.plain, self.bytes_value, self.moment, self.library, self.array]
        if depth == 0:
            return self.random.choice(draws)()
        nested: list[Callable[[], tuple[Any, Json]]] = [
            lambda: self.sequence(depth),
            lambda: self.mapping(depth),
            self.unordered,
        ]
        return self.random.choice(draws + 3 * nested)()


def main() -> None:
    for kind in (Phase, Progress, Settings):
        kind.__module__ = "train"
    train = types.ModuleType("train")
    vars(train).update(Phase=Phase, Progress=Progress, Settings=Settings)
    sys.modules["train"] = train
    drawn = Values(7)
    with open(sys.argv[1], "w") as file:
        for _ in range(100):
            value, expected = drawn.value(3)
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                try:
                    data = pickle.dumps(value, protocol)
                except TypeError:
                    continue  # old protocols don't have all values
                case = {"pickle": data.hex(), "json": expected}
                file.write(json.dumps(case, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
