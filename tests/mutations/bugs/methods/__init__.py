"""Seeded bugs of ``methods/``."""
