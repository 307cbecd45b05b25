"""Gives each rank the state that a process of its own would have, and a thread doesn't.

State that all threads share is swapped whenever the turn goes to another rank (``part``); functions
that would block the process, or tell the wall clock, are replaced while a run lasts (``patches``).
"""
