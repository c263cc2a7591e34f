"""Types of Arrow: those of texts, bytes and maps of texts, in any encoding."""

from __future__ import annotations

import pyarrow as pa


def is_text(type_: pa.DataType) -> bool:
    """Return whether values are texts, or nulls."""
    inner = _plain(type_)
    return bool(
        pa.types.is_string(inner)
        or pa.types.is_large_string(inner)
        or pa.types.is_string_view(inner)
        or pa.types.is_null(inner)
    )


def is_bytes(type_: pa.DataType) -> bool:
    """Return whether values are bytes, texts or nulls."""
    inner = _plain(type_)
    return bool(
        is_text(inner)
        or pa.types.is_binary(inner)
        or pa.types.is_large_binary(inner)
        or pa.types.is_binary_view(inner)
        or pa.types.is_fixed_size_binary(inner)
    )


def are_pairs(type_: pa.DataType) -> bool:
    """Return whether values are texts by text: maps, or structs, whose fields are the keys."""
    if pa.types.is_map(type_):
        return is_text(type_.key_type) and is_text(type_.item_type)
    if pa.types.is_struct(type_):
        fields = [type_.field(index) for index in range(type_.num_fields)]
        names = {field.name for field in fields}
        return len(names) == len(fields) and all(is_text(field.type) for field in fields)
    return bool(pa.types.is_null(type_))


def is_sortable(type_: pa.DataType) -> bool:
    """Return whether Arrow sorts values: numbers, times, texts and bytes, each as they are.

    >>> is_sortable(pa.timestamp("us")), is_sortable(pa.list_(pa.int8()))
    (True, False)
    """
    of = pa.types
    return bool(
        of.is_integer(type_)
        or of.is_floating(type_)
        or of.is_decimal(type_)
        or of.is_boolean(type_)
        or (of.is_temporal(type_) and not of.is_interval(type_))
        or of.is_string(type_)
        or of.is_large_string(type_)
        or of.is_binary(type_)
        or of.is_large_binary(type_)
        or of.is_fixed_size_binary(type_)
    )


def _plain(type_: pa.DataType) -> pa.DataType:
    """Return the type of the values, without an encoding by dictionary or runs."""
    is_encoded = pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_)
    return type_.value_type if is_encoded else type_
