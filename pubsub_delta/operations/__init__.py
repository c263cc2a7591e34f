"""The verbs: each reads, lets policy decide, writes once, and returns what came of it."""
