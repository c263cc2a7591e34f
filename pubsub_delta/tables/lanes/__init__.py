"""Lanes: this process (``direct``) or Spark (``spark``) reads and writes the tables."""
