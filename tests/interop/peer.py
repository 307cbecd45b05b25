"""Shared parts of the checks of every peer: one line a check, and calls of simmesh."""

import json
import os
import shutil
import subprocess
import sys
import traceback
from collections.abc import Sequence
from typing import Any, Callable

import torch
from safetensors.torch import load_file

Tensors = dict[str, torch.Tensor]


class Checks:
    """Runs checks, and prints one line for each."""

    def __init__(self, simmesh: str, work: str, label: str) -> None:
        self.simmesh, self.label = simmesh, label
        self.work = os.path.join(work, label)
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)

    def path(self, *names: str) -> str:
        return os.path.join(self.work, *names)

    def run(self, name: str, check: Callable[[], None]) -> None:
        try:
            check()
            print(f"pass {self.label}: {name}", flush=True)
        except Exception as error:
            print(
                f"FAIL {self.label}: {name}: {type(error).__name__}: {error}".replace("\n", " "),
                flush=True,
            )
            traceback.print_exc(file=sys.stderr)

    def skip(self, name: str, why: str) -> None:
        print(f"skip {self.label}: {name}: {why}", flush=True)

    def checkpoint(self, *arguments: str, status: int = 0) -> str:
        """Runs `simmesh checkpoint` and returns what it prints."""
        result = subprocess.run(
            [self.simmesh, "checkpoint", *arguments], check=False, capture_output=True, text=True
        )
        expect(
            result.returncode == status,
            f"checkpoint {' '.join(arguments)}: status {result.returncode}: "
            f"{result.stdout}{result.stderr}",
        )
        return result.stdout

    def convert(self, source: str, name: str, *options: str) -> str:
        target = self.path(name)
        self.checkpoint("convert", source, target, *options)
        return target

    def read_by_ours(self, source: str, name: str) -> Tensors:
        """The tensors of a checkpoint as simmesh reads it: it is verified, converted to our format
        and to safetensors, and no conversion may change a bit.
        """
        self.checkpoint("verify", source)
        ours = self.convert(source, name + ".ours")
        self.checkpoint("diff", source, ours)
        single = self.convert(ours, name + ".safetensors", "--format", "safetensors")
        return load_file(os.path.join(single, "model-00001-of-00001.safetensors"))

    def inspect(self, source: str) -> Any:
        return json.loads(self.checkpoint("inspect", source, "--json"))


def expect(holds: bool, why: str) -> None:
    if not holds:
        raise AssertionError(why)


def bits(tensor: torch.Tensor) -> list[int]:
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).tolist()


def expect_same(expected: Tensors, came: Tensors) -> None:
    """Raises unless two dicts have the same tensors, bit for bit."""
    expect(
        sorted(expected) == sorted(came), f"names: expected {sorted(expected)}, came {sorted(came)}"
    )
    for name, tensor in expected.items():
        other = came[name]
        expect(
            tensor.dtype == other.dtype and tensor.shape == other.shape,
            f"{name}: expected {tensor.dtype}{list(tensor.shape)}, "
            f"came {other.dtype}{list(other.shape)}",
        )
        expect(bits(tensor) == bits(other), f"{name}: other bits")


def our_samples(folder: str) -> Tensors:
    """The tensors that interop_samples wrote, from their raw bytes."""
    tensors = {}
    with open(os.path.join(folder, "expected.json")) as file:
        for entry in json.load(file):
            with open(os.path.join(folder, entry["file"]), "rb") as data:
                raw = bytearray(data.read())
            dtype = getattr(torch, entry["dtype"])
            flat = torch.frombuffer(raw, dtype=dtype) if raw else torch.empty(0, dtype=dtype)
            tensors[entry["name"]] = flat.reshape(entry["shape"])
    return tensors


FLOAT8 = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]
DTYPES = [
    "float64",
    "float32",
    "bfloat16",
    "float16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "complex64",
    "uint16",
    "uint32",
    "uint64",
    *FLOAT8,
]


def raw_tensor(shape: Sequence[int], dtype_name: str, seed: int) -> torch.Tensor:
    """A tensor of any dtype, of random bytes; those of bool are 0 and 1."""
    dtype = getattr(torch, dtype_name)
    count = 1
    for size in shape:
        count *= size
    generator = torch.Generator().manual_seed(seed)
    raw = torch.randint(0, 256, (count * dtype.itemsize,), generator=generator, dtype=torch.uint8)
    if dtype == torch.bool:
        raw = raw & 1
    return raw.view(dtype).reshape(shape)


def their_samples() -> Tensors:
    tensors = {}
    for i, dtype in enumerate(DTYPES):
        tensors[f"{dtype}.matrix"] = raw_tensor((5, 3), dtype, i)
        tensors[f"{dtype}.scalar"] = raw_tensor((), dtype, 100 + i)
        tensors[f"{dtype}.none"] = raw_tensor((0, 3), dtype, 200 + i)
    return tensors
