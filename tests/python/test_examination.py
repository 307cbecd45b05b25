"""Tests of the findings of `simmesh doctor`."""

from __future__ import annotations

import simmesh


def test_is_ok_here() -> None:
    findings = {finding.name: finding for finding in simmesh.doctor()}
    assert findings["version"].value == simmesh.__version__
    assert findings["fibers"].value == "ok"
    assert findings["canonical float32"].value == findings["canonical float32"].expected
    assert all(finding.ok for finding in findings.values())
