"""Seeded bugs of ``server/rest/``."""
