"""The web console: topics, subscriptions, snapshots and backlogs of a store, in a browser."""

from pubsub_delta.errors import FailedPrecondition

try:
    import fastapi
    import jinja2
    import uvicorn
except ModuleNotFoundError as missing:
    raise FailedPrecondition(
        f"the module {missing.name} is not installed; pip install 'pubsub-delta[console]' "
        "installs it"
    ) from missing

__all__ = ["fastapi", "jinja2", "uvicorn"]
