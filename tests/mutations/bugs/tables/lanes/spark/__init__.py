"""Seeded bugs of ``tables/lanes/spark/``."""
