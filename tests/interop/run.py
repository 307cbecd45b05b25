"""Runs the checks against other systems, each with the Python that has them, and counts results.

Prints one line for each check and then their number. The messages of the other systems go to files
beside the checkpoints that are compared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run_checks(
    python: str, script: str, arguments: list[str], log: Path, packages: str = ""
) -> list[str]:
    """Runs a script of this folder and returns its lines: pass, FAIL or skip, and the check.

    Modules in the folder `packages` come before those of the Python.
    """
    results = []
    with open(log, "w") as messages:
        process = subprocess.Popen(
            [python, "-u", str(HERE / script), *arguments],
            stdout=subprocess.PIPE,
            stderr=messages,
            text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": packages},
        )
        assert process.stdout is not None
        for line in process.stdout:
            # The systems print lines of their own.
            if line.startswith(("pass ", "FAIL ", "skip ")):
                print(line, end="", flush=True)
                results.append(line)
    if process.wait() != 0:
        results.append(f"FAIL {python}: {script} ended with status {process.returncode}\n")
        print(results[-1], end="", flush=True)
        print(f"{log} ends with:", *log.read_text().splitlines()[-20:], sep="\n", file=sys.stderr)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description="compares checkpoints with those of other systems")
    parser.add_argument("--simmesh", required=True, help="the program")
    parser.add_argument("--samples", required=True, help="the program interop_samples")
    parser.add_argument("--out", required=True, type=Path, help="the folder of what is written")
    parser.add_argument("--deepspeed", metavar="PYTHON", help="the Python that has DeepSpeed")
    parser.add_argument(
        "--deepspeed-release",
        metavar="FOLDER",
        action="append",
        default=[],
        help="a folder with another release of DeepSpeed, for the same Python",
    )
    parser.add_argument("torch", metavar="PYTHON", nargs="+", help="a Python that has PyTorch")
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    samples, work = str(options.out / "samples"), str(options.out / "work")
    subprocess.run([options.samples, samples], check=True)
    results = []
    for number, python in enumerate(options.torch):
        arguments = [options.simmesh, samples, work]
        log = options.out / f"torch_{number}.log"
        results += run_checks(python, "torch_checks.py", arguments, log)
    if options.deepspeed:
        arguments = [options.simmesh, work]
        for number, packages in enumerate(["", *options.deepspeed_release]):
            log = options.out / f"deepspeed_{number}.log"
            script = "deepspeed_checks.py"
            results += run_checks(options.deepspeed, script, arguments, log, packages)
    passed, failed, skipped = (
        sum(line.startswith(word) for line in results) for word in ("pass", "FAIL", "skip")
    )
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if failed == 0 < passed else 1


if __name__ == "__main__":
    sys.exit(main())
