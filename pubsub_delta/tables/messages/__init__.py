"""Topics: an append-only table of messages each, its commits, and the positions it gives out."""
