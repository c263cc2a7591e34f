"""The tests that are nearest to each module of the registry, and to what expires in it."""

from __future__ import annotations

NEAREST_OF_THE_REGISTRY: dict[str, tuple[str, ...]] = {
    "delivery/expiration.py": ("expiration_beside_others", "expiration"),
    "tables/registry/expirations.py": ("expiration_beside_others", "expiration"),
    "tables/registry/iam_policies.py": ("server_iam", "server_access_changes"),
    "tables/registry/schemas.py": ("schema_publishing", "schema_calls"),
    "tables/registry/predicates.py": ("expired_snapshots", "snapshot_calls", "expiration"),
    "tables/registry/registry.py": (
        "changed_at_that_moment",
        "lost_registry",
        "expired_snapshots",
        "tables_in_memory",
        "snapshot_calls",
        "expiration",
        "schema_publishing",
        "order_of_writes",
        "races",
        "expiration_beside_others",
        "lanes/test_registry",
    ),
    "tables/registry/resource_table.py": (
        "changed_at_that_moment",
        "resource_table",
        "lanes/test_registry",
        "lanes/test_tables_that_are_gone",
        "lost_registry",
        "lost_answers",
        "layout_version",
        "tables_in_memory",
        "snapshot_calls",
        "if_unchanged",
        "expiration",
    ),
    "tables/registry/rows.py": ("lanes/test_registry", "tables_in_memory", "registry_rows"),
}
