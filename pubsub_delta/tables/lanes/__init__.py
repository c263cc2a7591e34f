"""Lanes: who reads and writes the tables, this process (``direct``) or Spark (``spark``)."""
