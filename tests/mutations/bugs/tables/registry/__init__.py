"""Seeded bugs of ``tables/registry/``."""
