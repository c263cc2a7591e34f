"""Seeded bugs of ``tables/messages/``."""
