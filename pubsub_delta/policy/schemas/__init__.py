"""Schemas: which definitions, revisions and messages are accepted (Pub/Sub: schemas)."""
