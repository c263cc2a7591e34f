"""Seeded bugs of ``tables/``."""
