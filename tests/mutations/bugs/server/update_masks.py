"""Seeded bugs of ``server/update_masks.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = (
    "tests/unit/test_server_wire.py",
    "tests/unit/test_server_wire_outputs.py",
    "tests/unit/test_server_partial_updates.py",
    "tests/unit/test_cli_crossed_updates.py",
)

BUGS = (
    Bug(
        "mask-of-an-unknown-subfield",
        "A mask that names an unknown part of a field ends in an unexpected failure.",
        "    for part in inner:\n",
        "    for part in ():\n",
    ),
    Bug(
        "mask-of-one-label-clears-the-others",
        "A mask that names one label replaces all of them.",
        "    paths = [path for path, key in keys.items() if key is None]\n",
        "    paths = [path if key is None else 'labels' for path, key in keys.items()]\n",
    ),
    Bug(
        "wire-labels-merged",
        "An update of labels merges them into the present ones: a label that was left out stays.",
        "_with_parents(resource, merged, paths), merged, True, True)",
        "_with_parents(resource, merged, paths), merged, True, False)",
    ),
    Bug(
        "an-absent-label-cannot-be-removed",
        "An update that removes a label that is not there fails unexpectedly.",
        "labels.pop(key, None)",
        "del labels[key]",
    ),
    Bug(
        "parts-without-their-field-stay",
        "A part of a field that a mask names stays if the request leaves out the whole field.",
        "            inside.SetInParent()\n",
        "",
    ),
    Bug(
        "keys-of-labels-in-lower-case",
        "A mask that names a label changes the one whose key is the same in lower case.",
        "keys = {path: _key_of(path) for",
        "keys = {path: _key_of(path.lower()) for",
    ),
    Bug(
        "empty-labels-are-removed",
        "A mask that names a label takes an empty value for none.",
        "        if key in given:\n            labels[key] = given[key]",
        "        if given.get(key):\n            labels[key] = given[key]",
    ),
    Bug(
        "fields-beside-the-mask-are-refused",
        "An update is refused for a field that its mask does not name.",
        "wire.refuse_unknown(chosen, {",
        "wire.refuse_unknown(resource, {",
    ),
)
