"""The command line ``pubsub-delta``: the commands of ``gcloud pubsub`` on a store in Delta."""

import sys

_OF_THE_EXTRA = {"click", "prompt_toolkit", "rich", "tomli"}


def run() -> None:
    """Run the command line, or print how to install the extra ``cli``."""
    try:
        from pubsub_delta.cli.main import main
    except ModuleNotFoundError as error:
        if error.name not in _OF_THE_EXTRA:
            raise
        sys.exit(
            f"ERROR: (pubsub-delta) {error.name} is not installed; "
            "pip install 'pubsub-delta[cli]' installs it"
        )
    main()
