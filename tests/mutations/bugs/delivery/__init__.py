"""Seeded bugs of ``delivery/``."""
