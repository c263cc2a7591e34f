"""Seeded bugs of ``operations/``."""
