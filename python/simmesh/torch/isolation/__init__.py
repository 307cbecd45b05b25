"""What a process of its own would give each rank, and a thread doesn't.

State that all threads share is swapped whenever the turn goes to another rank (``part``); functions
that would block the process, or tell the wall clock, are replaced while a run lasts (``patches``).
"""
