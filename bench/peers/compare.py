"""Joins our benchmarks with the peers' figures by name, and prints a table.

    compare.py --peers PEERS.jsonl OURS.json...

PEERS.jsonl holds lines {"name": ..., "us": ...}; OURS.json is what Google Benchmark writes. A
second table shows what is counted by the second; there our own benchmark says what the peer does.
Ends with status 1 where a ratio or a rate is smaller than the asked one, or where one side of a
comparison was not measured. Where no ratio is asked, the figures stand beside each other.
"possible" says how many times as fast as the peer a program would be that does only what can't be
left out; where that is less than what is asked, nothing is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

Entry = dict[str, Any]  # a measurement as Google Benchmark writes it

# simmesh must be that many times faster than the peer. The first entry that is a prefix of the name
# counts. Plain copies, writes and reads are the same work on both sides: they show what the disk
# did meanwhile.
ASKED = [
    ("redistribute/", 100),
    ("dispatch/add_", 100),
    ("dispatch_cold/", 100),
    ("all_reduce_256_floats/ranks:8", 40),
    ("all_reduce_256_floats/ranks:64", 100),
    ("all_reduce_256_floats/ranks:1024", 1000),
    ("fsdp_three_layers/", 500),
    ("zero3_three_steps/", 500),
    ("checkpoint/copy/", None),
    ("checkpoint/write/", None),
    ("checkpoint/read/", None),
    ("checkpoint/", 5),
    ("execution_trace/", 20),
]
# simmesh must do that much in a second on one core: the benchmark, its counters of ours and the
# peer's, and the least.
ASKED_RATES = [("validate/all", "combinations/s", "peer/s", 50_000)]
# The work that can't be left out: a save writes its bytes to disk, and a load reads them.
LEAST_WORK = [
    ("checkpoint/save/", "checkpoint/write/"),
    ("checkpoint/load/", "checkpoint/read/"),
    ("checkpoint/load_other_layout/", "checkpoint/read/"),
]
MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
# Google Benchmark adds these to a name if a benchmark chooses its clock or its length.
SUFFIXES = (
    "real_time",
    "manual_time",
    "process_time",
    "min_time:",
    "min_warmup_time:",
    "iterations:",
    "repeats:",
    "threads:",
)


def plain_name(name: str) -> str:
    """Returns the benchmark's own name."""
    return "/".join(part for part in name.split("/") if not part.startswith(SUFFIXES))


def read_entries(paths: Iterable[str]) -> list[tuple[str, Entry]]:
    """Returns the measurements that Google Benchmark wrote, as (name, entry)."""
    entries = []
    for path in paths:
        with open(path) as file:
            text = file.read()
        for entry in json.loads(text)["benchmarks"] if text.strip() else []:
            if entry.get("run_type") != "aggregate" and not entry.get("error_occurred"):
                entries.append((plain_name(entry["name"]), entry))
    return entries


def times_of(entries: Iterable[tuple[str, Entry]]) -> dict[str, float]:
    """Returns microseconds by name; of several repetitions, the smallest."""
    times: dict[str, float] = {}
    for name, entry in entries:
        us = entry["real_time"] * MICROSECONDS[entry["time_unit"]]
        times[name] = min(us, times.get(name, us))
    return times


def read_peers(path: str) -> dict[str, float]:
    """Returns microseconds by name."""
    with open(path) as file:
        entries = [json.loads(line) for line in file if line.strip()]
    return {entry["name"]: entry["us"] for entry in entries}


def asked_ratio(name: str) -> int | None:
    """Returns the required ratio, None if there is none."""
    return next((ratio for start, ratio in ASKED if name.startswith(start)), None)


def possible_ratio(name: str, peers: dict[str, float]) -> float | None:
    """Returns how many times as fast as the peer the least possible work is; None if unknown."""
    for start, least in LEAST_WORK:
        plain = peers.get(name.replace(start, least, 1)) if name.startswith(start) else None
        if plain:
            return peers[name] / plain
    return None


def short(ratio: float) -> str:
    """Returns a ratio as it is shown."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2f}"


def row(
    name: str, ours: float | None, peer: float | None, possible: float | None
) -> tuple[list[str], bool]:
    """Returns the cells of one comparison, and whether it holds."""
    asked = asked_ratio(name)
    asked_cell = "" if asked is None else f"{asked}"
    if ours is None or peer is None:
        cells = [f"{us:.1f}" if us is not None else "none" for us in (ours, peer)]
        return [name, *cells, "", asked_cell, "", "not measured"], False
    ratio = peer / ours
    holds, verdict = True, ""
    if asked is not None:
        holds = ratio >= asked
        verdict = "holds" if holds else "MISSED"
        if not holds and possible is not None and possible < asked:
            holds, verdict = True, f"at most {short(possible)} times possible"
    possible_cell = "" if possible is None else short(possible)
    return [
        name,
        f"{ours:.2f}",
        f"{peer:.1f}",
        short(ratio),
        asked_cell,
        possible_cell,
        verdict,
    ], holds


def rate_rows(entries: Sequence[tuple[str, Entry]]) -> tuple[list[list[str]], bool]:
    """Returns the rows of what was run and is counted by the second, and whether all hold."""
    rows = []
    for name, counter, peer_counter, asked in ASKED_RATES:
        measured = [entry for found, entry in entries if found == name]
        if not measured:
            continue
        best = max(measured, key=lambda entry: entry[counter])
        ours, peer = best[counter], best[peer_counter]
        verdict = "holds" if ours >= asked else "MISSED"
        rows.append(
            [
                f"{name} {counter}",
                f"{ours:.0f}",
                f"{peer:.0f}",
                f"{ours / peer:.0f}",
                f"{asked}",
                verdict,
            ]
        )
    return rows, all(cells[-1] == "holds" for cells in rows)


def print_table(header: list[str], rows: list[list[str]]) -> None:
    """Prints the rows below the header, columns aligned."""
    table = [header, *rows]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(header))]
    for cells in table:
        padded = [cells[0].ljust(widths[0])]
        padded += [cell.rjust(width) for cell, width in zip(cells[1:-1], widths[1:-1])]
        print("  ".join(padded + cells[-1:]).rstrip())


def main() -> int:
    parser = argparse.ArgumentParser(
        description="joins our benchmarks with the peers' figures by name, and prints a table"
    )
    parser.add_argument("--peers", required=True)
    parser.add_argument("ours", nargs="+")
    options = parser.parse_args()
    entries, peers = read_entries(options.ours), read_peers(options.peers)
    ours = times_of(entries)
    compared = [
        row(name, ours.get(name), peers[name], possible_ratio(name, peers)) for name in peers
    ]
    print_table(
        ["work", "ours (us)", "peer (us)", "ratio", "asked", "possible", ""],
        [cells for cells, _ in compared],
    )
    rates, rates_hold = rate_rows(entries)
    if rates:
        print()
        print_table(["work", "ours", "peer", "ratio", "asked of ours", ""], rates)
    if not compared:
        sys.exit("compare.py: the peers' file holds no figure")
    return 0 if rates_hold and all(holds for _, holds in compared) else 1


if __name__ == "__main__":
    sys.exit(main())
