"""Seeded bugs of ``jobs/``."""
