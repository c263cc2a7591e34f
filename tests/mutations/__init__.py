"""Bugs that are put into a copy of the library on purpose: the tests must notice each of them.

``bug`` says what a bug is: a plain sentence, what stands in a file, and what a tired engineer
would have written. ``bugs`` lists them, with a file for each module of the library. ``nearest``
says which tests are asked first, ``check`` runs them, ``imported`` sees to it that they test the
copy, and ``report`` writes the table. ``generated`` draws what a program changes (``mutants``), and
``trials`` lets those meet the tests that run their lines (``covering``, ``patched``).
"""
