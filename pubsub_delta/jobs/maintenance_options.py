"""The options that ``pubsub-delta maintain`` and the job for a scheduler share."""

from __future__ import annotations

import click

from pubsub_delta.jobs.option_groups import options

DUTIES = ("tables", "dead-letters", "expiration", "retention", "optimize", "vacuum")


def parse_duties(_: click.Context, __: click.Parameter, text: str) -> dict[str, bool]:
    """Parse a list of duties, as arguments of ``PubSub.maintain``."""
    duties = [duty.strip() for duty in text.split(",") if duty.strip()]
    unknown = [duty for duty in duties if duty not in DUTIES]
    if unknown or not duties:
        raise click.BadParameter(
            f"{', '.join(unknown) or repr(text)} is not a duty; {', '.join(DUTIES)} are accepted"
        )
    return {duty.replace("-", "_"): duty in duties for duty in DUTIES}


shared_options = options(
    click.option(
        "--duties",
        default="tables,dead-letters,expiration,retention",
        show_default=True,
        callback=parse_duties,
        help="The duties to do, separated by commas; optimize and vacuum are accepted, too.",
    ),
    click.option(
        "--log-retention",
        metavar="DURATION",
        help="Remove older commits from the logs of topics, such as 1d; for topics with many "
        "commits.",
    ),
)
"""The options ``--duties`` and ``--log-retention``."""
