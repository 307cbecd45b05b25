"""Ranks that are processes: each rank is forked from this process and computes in its own memory.

The engine stays here. Each rank has a seat, which is a thread as for other ranks, but its program
is a server: it takes the next request of its process, performs it with the turn, and answers.
"""
