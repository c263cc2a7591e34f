"""Seeded bugs of ``cli/grammar/``."""
