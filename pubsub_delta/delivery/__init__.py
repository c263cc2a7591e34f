"""Between operations and tables: what a subscription sees of its topic, leases, dead letters."""
