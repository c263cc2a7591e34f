"""Why a message could not be written to the table of its subscription, whatever is in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pubsub_delta import DeadLetterPolicy
from tests.lanes.table_world import DEAD, World

_WHY = "CloudPubSubDeadLetterSourceDeliveryErrorMessage"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_reason_with_half_a_surrogate_pair_holds_up_no_dead_letter(world: World) -> None:
    """JSON has such names; attributes, which are UTF-8, have not."""
    world.store.create_topic(DEAD)
    world.store.create_subscription("letters", DEAD)
    world.make()
    world.subscribe(use_table_schema=True, dead_letter_policy=DeadLetterPolicy(DEAD, 5))
    world.publish(b'{"\\ud800": 1}', b"{}", b'{"other": 1}')
    assert world.write() == (1, 10)
    assert [each.attributes[_WHY] for each in world.store.pull("letters")] == [
        r"there is no column for \ud800",
        "there is no column for other",
    ]
    assert world.states() == {}
