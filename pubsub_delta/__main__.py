"""``python -m pubsub_delta`` is ``pubsub-delta``."""

from pubsub_delta.cli import run

if __name__ == "__main__":
    run()
