"""All scenarios, by name."""

from __future__ import annotations

from tests.protocol import (
    administration_scenarios,
    dead_letter_scenarios,
    delivery_scenarios,
    replay_scenarios,
)
from tests.protocol.scenario import Scenario

SCENARIOS = tuple(
    each
    for module in (
        replay_scenarios,
        dead_letter_scenarios,
        delivery_scenarios,
        administration_scenarios,
    )
    for each in vars(module).values()
    if isinstance(each, Scenario)
)
