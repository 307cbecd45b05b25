"""The files that call on behalf of a program: torch's, simmesh's, and some of Python's modules."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import importlib.util
import multiprocessing
import os
import queue
import selectors
import threading
import warnings
from types import FrameType

import torch
import typing_extensions

import simmesh


def internal_files() -> list[str]:
    """The prefixes of their paths."""
    packages = (torch, simmesh, asyncio, concurrent.futures, multiprocessing)
    folders = [os.path.dirname(str(module.__file__)) + os.sep for module in packages]
    checker = importlib.util.find_spec("spmd_types")
    if checker is not None:
        folders.append(os.path.dirname(str(checker.origin)) + os.sep)
    modules = (contextlib, functools, queue, selectors, threading, typing_extensions, warnings)
    return folders + [str(module.__file__) for module in modules]


_OWN = os.path.dirname(str(simmesh.__file__)) + os.sep
_PREFIXES = ("<frozen", *internal_files())


def called_function(frame: FrameType | None, otherwise: str) -> str:
    """The function that the program called, such as ``Queue.get``, as seen from one of its
    frames. ``otherwise`` is for a function of C code.
    """
    inner: FrameType | None = None
    while frame is not None and frame.f_code.co_filename.startswith(_PREFIXES):
        if not frame.f_code.co_filename.startswith(_OWN):
            inner = frame
        frame = frame.f_back
    if inner is None or frame is None:
        return otherwise
    return getattr(inner.f_code, "co_qualname", inner.f_code.co_name)
