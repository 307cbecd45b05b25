"""How long does an all-reduce of 256 floats take under SimGrid's SMPI?

Prints one JSON object a line, {"name": ..., "us": ...}, where name is that of our own benchmark of
the same work. SMPI's own clock is simulated. So the program runs as a whole with N and with 2N
repetitions, and the difference of the two times, divided by N, is the cost of one; start and end of
the process cancel out. Time is the processor's: SMPI is one thread that never waits, so that is its
wall time on an otherwise idle machine. Of several runs the least counts.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
REPETITIONS = {8: 20000, 64: 1000, 1024: 8}  # a second or two of work each


def write_cluster(folder: pathlib.Path, ranks: int) -> tuple[pathlib.Path, pathlib.Path]:
    """Writes a crossbar with a host for each rank; returns paths of platform and host file."""
    platform = folder / f"cluster_{ranks}.xml"
    platform.write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1">\n'
        f'  <cluster id="cluster" prefix="host-" suffix="" radical="0-{ranks - 1}"\n'
        '           speed="1Gf" bw="10GBps" lat="1us"/>\n'
        "</platform>\n"
    )
    hosts = folder / f"hosts_{ranks}.txt"
    hosts.write_text("".join(f"host-{rank}\n" for rank in range(ranks)))
    return platform, hosts


def process_seconds(
    program: pathlib.Path,
    cluster: tuple[pathlib.Path, pathlib.Path],
    ranks: int,
    repetitions: int,
) -> float:
    """Returns the processor time of one whole process, with its children."""
    platform, hosts = cluster
    command = ["smpirun", "-np", str(ranks), "-platform", str(platform), "-hostfile", str(hosts)]
    command += ["--cfg=smpi/simulate-computation:no", "--log=root.thres:error"]
    command += [str(program), str(repetitions)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"smpi.py: '{' '.join(command)}' ended with {done.returncode}:\n{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=sorted(REPETITIONS))
    parser.add_argument("--pairs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = folder / "all_reduce"
        subprocess.run(
            ["smpicc", "-O2", "-o", str(program), str(HERE / "all_reduce.c")], check=True
        )
        for ranks in options.ranks:
            cluster = write_cluster(folder, ranks)
            count = REPETITIONS.get(ranks, max(4, 200_000 // ranks))
            # Noise only adds time, so the smallest time of each kind is the best estimate.
            runs = range(options.pairs)
            once = min(process_seconds(program, cluster, ranks, count) for _ in runs)
            twice = min(process_seconds(program, cluster, ranks, 2 * count) for _ in runs)
            us = (twice - once) / count * 1e6
            line = {"name": f"all_reduce_256_floats/ranks:{ranks}", "us": round(us, 1)}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
