"""Schemas: the accepted definitions, revisions and messages (Pub/Sub: schemas)."""
