"""The web console: topics, subscriptions, snapshots and backlogs of a store, in a browser."""

from pubsub_delta.errors import needing_extra

with needing_extra("console"):
    import fastapi
    import jinja2
    import uvicorn

__all__ = ["fastapi", "jinja2", "uvicorn"]
