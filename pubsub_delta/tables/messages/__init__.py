"""Topics: for each an append-only table of messages, its commits, and its positions."""
