"""Keeps torch from choosing kernels of oneDNN, which computes whole layers in an order of its own.

Without it, torch composes an LSTM of products and functions, as it does a GRU.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_lock = threading.Lock()
_modes = 0
_before = True


@contextmanager
def without_onednn() -> Iterator[None]:
    """Switches oneDNN off while any thread is in the mode; the last one puts back what was."""
    global _modes, _before
    with _lock:
        if _modes == 0:
            _before = torch._C._get_mkldnn_enabled()
            torch._C._set_mkldnn_enabled(False)
        _modes += 1
    try:
        yield
    finally:
        with _lock:
            _modes -= 1
            if _modes == 0:
                torch._C._set_mkldnn_enabled(_before)
