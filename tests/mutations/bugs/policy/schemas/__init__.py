"""Seeded bugs of ``policy/schemas/``."""
