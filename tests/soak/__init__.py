"""A server under a steady load for a long time: `python -m tests.soak --help`.

Six programs publish and consume in ways of their own, each with its own topic. Every ten seconds
the memory, files, streams and leases of the server are noted down. At the end each program says
what it misses and what came that should not have come.
"""
