"""The operations: each reads, lets policy decide, writes once, and returns the result."""
