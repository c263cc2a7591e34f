"""Seeded bugs of ``tables/lanes/direct/``."""
