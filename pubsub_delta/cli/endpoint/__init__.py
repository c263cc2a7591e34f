"""``--endpoint``: a client of a running server, in place of a store."""
