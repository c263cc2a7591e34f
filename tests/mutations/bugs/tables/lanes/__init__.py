"""Seeded bugs of ``tables/lanes/``."""
