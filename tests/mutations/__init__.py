"""Bugs that are put into a copy of the library on purpose: the tests must notice each of them.

``bug`` says what a bug is, ``bugs`` has them all, and ``bugs_of_*`` list them: a plain sentence, a
file, what stands there and what a tired engineer would have written. ``nearest`` says which tests
are asked first, ``check`` runs them, ``imported`` sees to it that they test the copy, and
``report`` writes the table.
"""
