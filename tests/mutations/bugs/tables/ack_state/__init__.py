"""Seeded bugs of ``tables/ack_state/``."""
