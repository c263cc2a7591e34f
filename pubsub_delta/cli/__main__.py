"""``python -m pubsub_delta.cli`` is ``pubsub-delta``."""

from pubsub_delta.cli.main import main

if __name__ == "__main__":
    main()
