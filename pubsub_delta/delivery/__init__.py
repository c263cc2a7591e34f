"""Workflows of operations over tables: leases, forwarding to dead-letter topics, table writes."""
