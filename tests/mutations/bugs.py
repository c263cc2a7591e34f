"""All seeded bugs, by name."""

from __future__ import annotations

from tests.mutations.bug import Bug
from tests.mutations.bugs_of_delivery import BUGS_OF_DELIVERY
from tests.mutations.bugs_of_lines import BUGS_OF_LINES
from tests.mutations.bugs_of_messages import BUGS_OF_MESSAGES
from tests.mutations.bugs_of_operations import BUGS_OF_OPERATIONS
from tests.mutations.bugs_of_push import BUGS_OF_PUSH
from tests.mutations.bugs_of_replay import BUGS_OF_REPLAY
from tests.mutations.bugs_of_tables import BUGS_OF_TABLES
from tests.mutations.bugs_of_values import BUGS_OF_VALUES

BUGS: tuple[Bug, ...] = (
    *BUGS_OF_DELIVERY,
    *BUGS_OF_REPLAY,
    *BUGS_OF_VALUES,
    *BUGS_OF_OPERATIONS,
    *BUGS_OF_TABLES,
    *BUGS_OF_MESSAGES,
    *BUGS_OF_PUSH,
    *BUGS_OF_LINES,
)
