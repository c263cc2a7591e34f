"""The protocol, searched to the end: every order of the commits of two or three processes.

The processes run the real operations, on tables in memory. Every call of the lane is a step, and
the search lets each process that has one go next, from every state that it meets. A process may die
between any two of its steps, and lose the answer of a commit. A step is named by the functions that
make it. ``docs/trials.md`` says what was found.
"""
