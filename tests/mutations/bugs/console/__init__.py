"""Seeded bugs of ``console/``."""
