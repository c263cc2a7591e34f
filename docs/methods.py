"""What the reference shows besides: functions that a class has as its methods.

``PubSub`` lists most of its methods as ``create_topic = topics.create_topic``. Griffe takes each
for an attribute without a text. ``mkdocs.yml`` names this extension.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import griffe


class ListedMethods(griffe.Extension):
    """Puts the function in the place of an attribute that is one."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Go through the classes of a package that is read to its end."""
        for each in pkg.modules.values():
            self.on_package(pkg=each)
        for cls in pkg.classes.values():
            if not cls.is_alias:
                _with_methods(cls)


def _with_methods(cls: griffe.Class) -> None:
    for name, attribute in list(cls.attributes.items()):
        function = None if attribute.is_alias else _function(attribute)
        if function is not None:
            method = copy(function)
            method.parent, method.lineno = cls, attribute.lineno
            cls.members[name] = method


def _function(attribute: griffe.Attribute) -> griffe.Function | None:
    value = attribute.value
    if not isinstance(value, griffe.ExprAttribute):
        return None
    try:
        found = attribute.modules_collection[value.canonical_path]
    except (KeyError, griffe.AliasResolutionError):
        return None
    return found if isinstance(found, griffe.Function) else None
