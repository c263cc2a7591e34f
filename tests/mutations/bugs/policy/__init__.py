"""Seeded bugs of ``policy/``."""
