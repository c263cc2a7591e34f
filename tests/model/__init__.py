"""One naive reference of the specification, and one state machine that compares a store with it.

``reference*`` say what must happen, row by row, and import nothing of the library. ``drivers`` are
the store: the real operations and policy on tables in memory (``memory*``), or a store on real
tables. ``machine`` draws steps (``draws``) and lets ``comparison`` and ``delivery`` do each of them
to both. ``running`` counts steps and seeds.
"""
