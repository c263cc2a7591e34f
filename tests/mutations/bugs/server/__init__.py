"""Seeded bugs of ``server/``."""
