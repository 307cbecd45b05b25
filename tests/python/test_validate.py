"""Sharding rules, judged from Python."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

import simmesh
from repository import CASES


def test_rules_of_an_op_hold() -> None:
    result = simmesh.validate("mm", claimed_only=True, jobs=1)
    assert result.ok and result.wrong == 0 and result.rules > 0
    (verdict,) = result.ops
    assert verdict.op == "mm" and verdict.way == "rules"
    rules = verdict.samples[0].rules
    assert rules["S(0),R -> S(0)"].wrong is None
    assert rules["S(0),R -> S(0)"].trials > 0
    assert str(result).splitlines()[-1] == repr(result)[1:-1]


def test_missing_rules_are_looked_for() -> None:
    result = simmesh.validate(["neg"])
    assert result.missing == sum(len(sample.missing) for sample in result.ops[0].samples)


def test_tables_are_judged() -> None:
    result = simmesh.validate_tables(CASES / "pytorch_ops" / "rules.jsonl", jobs=1)
    assert result.rules > 0
    assert result.wrong == sum(len(table.refuted) for table in result.tables)


def test_refuses_names_of_no_op() -> None:
    with pytest.raises(ValueError, match="no_such_op"):
        simmesh.validate("no_such_op")


def test_other_threads_run_and_ctrl_c_ends_it() -> None:
    ticks = []

    def interrupt() -> None:
        for _ in range(5):
            time.sleep(0.05)
            ticks.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    # Shells let programs in the background ignore the signal.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        simmesh.validate()
    thread.join()
    signal.signal(signal.SIGINT, handler)
    assert len(ticks) == 5
    assert all(finding.ok for finding in simmesh.doctor())
