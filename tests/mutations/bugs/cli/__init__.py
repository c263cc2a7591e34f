"""Seeded bugs of ``cli/``."""
