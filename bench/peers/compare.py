"""Joins our benchmarks with the peers' figures by name, and prints a table.

    compare.py --peers PEERS.jsonl OURS.json...

PEERS.jsonl holds lines {"name": ..., "us": ...}; OURS.json is what Google Benchmark writes. Ends with status 1 where a
ratio is smaller than the asked one, or where one side of a comparison was not measured. Where no ratio is asked, the
figures stand beside each other.
"""

import argparse
import json
import sys

# How many times faster than the peer simmesh must be. The first entry that is a prefix of the name counts.
ASKED = [
    ("redistribute/", 100),
    ("all_reduce_256_floats/ranks:8", 40),
    ("all_reduce_256_floats/ranks:64", 100),
    ("all_reduce_256_floats/ranks:1024", 1000),
    ("fsdp_three_layers/", 500),
    ("zero3_three_steps/", 500),
]
MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
# Google Benchmark adds these to a name if a benchmark chooses its clock or its length.
SUFFIXES = ("real_time", "manual_time", "process_time", "min_time:", "min_warmup_time:",
            "iterations:", "repeats:", "threads:")


def plain_name(name):
    """Returns the benchmark's own name."""
    return "/".join(part for part in name.split("/") if not part.startswith(SUFFIXES))


def read_ours(paths):
    """Returns microseconds by name; of several repetitions, the smallest."""
    ours = {}
    for path in paths:
        with open(path) as file:
            text = file.read()
        for entry in json.loads(text)["benchmarks"] if text.strip() else []:
            if entry.get("run_type") == "aggregate" or entry.get("error_occurred"):
                continue
            name = plain_name(entry["name"])
            us = entry["real_time"] * MICROSECONDS[entry["time_unit"]]
            ours[name] = min(us, ours.get(name, us))
    return ours


def read_peers(path):
    """Returns microseconds by name."""
    with open(path) as file:
        entries = [json.loads(line) for line in file if line.strip()]
    return {entry["name"]: entry["us"] for entry in entries}


def asked_ratio(name):
    """Returns the required ratio, None if there is none."""
    return next((ratio for start, ratio in ASKED if name.startswith(start)), None)


def row(name, ours, peer):
    """Returns the cells of one comparison, and whether it holds."""
    asked = asked_ratio(name)
    asked_cell = "" if asked is None else f"{asked}"
    if ours is None or peer is None:
        cells = [f"{us:.1f}" if us is not None else "none" for us in (ours, peer)]
        return [name, *cells, "", asked_cell, "not measured"], False
    ratio = peer / ours
    holds = asked is None or ratio >= asked
    verdict = "" if asked is None else "holds" if holds else "MISSED"
    ratio_cell = f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2f}"
    return [name, f"{ours:.2f}", f"{peer:.1f}", ratio_cell, asked_cell, verdict], holds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", required=True)
    parser.add_argument("ours", nargs="+")
    options = parser.parse_args()
    ours, peers = read_ours(options.ours), read_peers(options.peers)
    compared = [row(name, ours.get(name), peers[name]) for name in peers]
    header = ["work", "ours (us)", "peer (us)", "ratio", "asked", ""]
    table = [header] + [cells for cells, _ in compared]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(header))]
    for cells in table:
        padded = [cells[0].ljust(widths[0])]
        padded += [cell.rjust(width) for cell, width in zip(cells[1:-1], widths[1:-1])]
        print("  ".join(padded + cells[-1:]).rstrip())
    if not compared:
        sys.exit("compare.py: the peers' file holds no figure")
    return 0 if all(holds for _, holds in compared) else 1


if __name__ == "__main__":
    sys.exit(main())
