"""Seeded bugs of ``cli/endpoint/``."""
