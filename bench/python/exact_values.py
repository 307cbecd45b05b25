"""How much slower are exact values than torch's own operators?

Prints a table: the operation, the number of elements, our time and torch's, each of one call in
microseconds, and their ratio. All are CPU times of this machine, the least of several, with one
thread as ranks have it. ``write`` and ``read`` are those of a record, which operators on exact
tensors do besides.

``--json`` prints lines of JSON instead.
"""

from __future__ import annotations

import lines
import torch
from simmesh._core.exact import Record, Values, apply, product, sum_rows
from timing import Call, microseconds

SIZES = (64, 1024, 4096, 65536)
SIDES = (16, 64, 256)


def report(name: str, size: str, ours: Call, torchs: Call) -> None:
    """Prints a line of the table."""
    own, peer = microseconds(ours), microseconds(torchs)
    lines.text(f"{name:28} {size:>10} {own:10.2f} {peer:10.2f} {own / peer:8.1f}")
    lines.value(f"{name} {size}", own)
    lines.value(f"{name} {size} peer", peer)


def elementwise(count: int) -> None:
    """Operators on elements, on exact values of one double, of two, and over 3."""
    a, b, out = torch.randn(count), torch.randn(count), torch.empty(count)
    plain = Values.of(a)
    pairs = product(torch.randn(count, 8), torch.randn(8, 1))
    thirds = pairs.divided(3.0)
    record, places = Record(4 * count), torch.randperm(count)

    def write(values: Values) -> Call:
        return lambda: record.write(out, values)

    size = str(count)
    report("elements as values", size, lambda: Values.of(a), lambda: out.copy_(a))
    report("add doubles", size, lambda: plain.plus(plain), lambda: torch.add(a, b, out=out))
    report("add pairs", size, lambda: pairs.plus(pairs), lambda: torch.add(a, b, out=out))
    report("multiply doubles", size, lambda: plain.times(plain), lambda: torch.mul(a, b, out=out))
    report("multiply pairs by doubles", size, lambda: pairs.times(plain),
           lambda: torch.mul(a, b, out=out))  # fmt: skip
    report("divide by 3", size, lambda: pairs.divided(3.0), lambda: torch.div(a, 3.0, out=out))
    report("sum of all", size, lambda: pairs.summed(1, count, 1), a.sum)
    report("index", size, lambda: pairs.taken(places), lambda: a[places])
    report("round pairs", size, lambda: pairs.round_into(out), lambda: out.copy_(a))
    report("round thirds", size, lambda: thirds.round_into(out), lambda: out.copy_(a))
    report("write", size, write(pairs), lambda: out.copy_(a))
    report("read", size, lambda: record.read(out), lambda: out.copy_(a))
    report("exp", size, lambda: apply("exp", a, out), lambda: torch.exp(a, out=out))
    rows, sums = a.view(-1, 64), torch.empty(count // 64)
    report("sums of rows of 64", size, lambda: sum_rows(rows, count // 64, 64, 1, sums),
           lambda: torch.sum(rows, 1, out=sums))  # fmt: skip


def products(side: int) -> None:
    """A product of two square matrices, with the elements that it is rounded to."""
    a, b, out = torch.randn(side, side), torch.randn(side, side), torch.empty(side, side)
    size = f"{side}^3"
    report("matrix product", size, lambda: product(a, b), lambda: torch.mm(a, b, out=out))
    report("matrix product, rounded", size, lambda: product(a, b).round_into(out),
           lambda: torch.mm(a, b, out=out))  # fmt: skip


def memory(count: int) -> None:
    """Bytes that a record takes for an element of float32, by what stands behind it."""
    a, out = torch.randn(count), torch.empty(count)
    pairs = product(torch.randn(count, 8), torch.randn(8, 1))
    spread = pairs.times(Values.of(torch.randn(count).exp().square()))
    behind = {"its element": Values.of(a), "a double": Values.of(a).times(Values.of(a)),
              "two doubles": pairs.times(Values.of(a)), "a third": pairs.divided(3.0),
              "more digits": spread.times(pairs)}  # fmt: skip
    lines.text(f"{'behind an element stands':28} {'bytes':>10}")
    for name, values in behind.items():
        record = Record(4 * count)
        record.write(out, values)
        lines.text(f"{name:28} {record.nbytes / count:10.1f}")
        lines.value(f"bytes of {name}", record.nbytes / count)


def main() -> None:
    """Prints the tables."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    lines.text(f"{'operation':28} {'elements':>10} {'ours, us':>10} {'torch, us':>10} {'ratio':>8}")
    for count in SIZES:
        elementwise(count)
    for side in SIDES:
        products(side)
    memory(4096)


if __name__ == "__main__":
    main()
