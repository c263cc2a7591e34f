"""The tests that are nearest to what consumers and dead letters go through."""

from __future__ import annotations

from tests.mutations.nearest_tests_of_policy import TABLE_WRITES

NEAREST_OF_DELIVERY: dict[str, tuple[str, ...]] = {
    "delivery/consuming.py": (
        "rare_dead_letters",
        "protocol/test_outages",
        "server_forwarding",
        "lanes/test_table_given",
        "consumer_calls",
        "expiration",
        "restored",
        "server_access_changes",
        "many_dead_letters",
        *TABLE_WRITES,
    ),
    "delivery/dead_letters.py": (
        "maintenance_problems",
        "rare_dead_letters",
        "lanes/test_damaged_dead_letter_topics",
        "many_dead_letters",
        "unreadable_messages",
        "restored",
        "tables_in_memory",
        "races",
        "lanes/test_races_found",
        "lanes/test_cut_logs",
        "consumer_calls",
        "simulation",
        "lanes/test_table_rows",
    ),
}
