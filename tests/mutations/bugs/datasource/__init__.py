"""Seeded bugs of ``datasource/``."""
