"""Histories of several processes on one store, written down and checked.

``plans`` draws from a seed what each process does, and what the nemesis does to the processes and
their disk. ``worker`` is a process: it writes down each operation when it begins and when it ends.
``nemesis`` runs a plan. ``records`` reads what was written down, and ``checker`` finds what cannot
be: neither imports anything of the library. ``shrinking`` looks for a smaller plan that fails as
well, and ``telling`` prints the part of a history that a violation is about.

``python -m tests.histories.run --seed 17`` runs one.
"""
