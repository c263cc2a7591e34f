"""Seeded bugs of what an adversarial reader has found: each is a fault that was there."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_AN_ADVERSARY = (
    Bug(
        "schema-of-a-later-topic",
        "The schema of another topic, of the name of a deleted one, tells what a table is given.",
        "delivery/table_writes.py",
        "tables.registry.topic(stored.topic)",
        "tables.registry.topic(subscription.topic)",
    ),
    Bug(
        "fields-hide-methods",
        "A field of an inner message may hide a method of Python's messages.",
        "policy/schemas/protobuf.py",
        "    for inner in message.nested_type:\n        _check_field_names(inner)\n",
        "",
    ),
    Bug(
        "defaults-that-are-no-values",
        "A default that is no value of its type is accepted, and no message after that.",
        "policy/schemas/avro.py",
        "        AvroCodec(definition)  # it checks default values\n",
        "",
    ),
    Bug(
        "defaults-of-no-branch",
        "A default that is of no branch of its union is accepted.",
        "policy/schemas/avro_defaults.py",
        '        _DefaultReader(field["type"], named).check(default)\n',
        "",
    ),
    Bug(
        "logical-types-of-the-writer",
        "A message of an earlier revision is read by the logical types of that revision.",
        "policy/schemas/avro.py",
        "_without(self._given, lambda _: True)",
        "_without(self._given, _is_ignored)",
    ),
    Bug(
        "keys-of-maps-that-are-no-text",
        "Half a surrogate pair is accepted as a key of a map in Avro's JSON.",
        "policy/schemas/avro_json.py",
        '        for key in value:\n            _plain("string", key, path)\n',
        "",
    ),
    Bug(
        "integers-beyond-all-floating-point-numbers",
        "An integer that no double holds ends a publish in an OverflowError.",
        "policy/schemas/avro_json.py",
        "    except OverflowError:\n        return inf if value > 0 else -inf\n",
        "    except ArithmeticError:\n        raise\n",
    ),
    Bug(
        "reasons-that-are-no-utf8",
        "The reason why data does not fit its schema can have half a surrogate pair.",
        "policy/schemas/types.py",
        "super().__init__(as_utf8(why))",
        "super().__init__(why)",
    ),
    Bug(
        "bytes-in-a-column-of-text",
        "A string of proto2 that is no UTF-8 ends the reading of all messages.",
        "policy/schemas/protobuf.py",
        "    if isinstance(value, bytes) and type_ == TEXT:\n        return value.decode()\n",
        "",
    ),
    Bug(
        "permissions-on-a-schema",
        "A question for permissions on a schema is an unexpected failure of the server.",
        "policy/iam.py",
        "PERMISSIONS.get(collection, ())",
        "PERMISSIONS[collection]",
    ),
    Bug(
        "parts-without-their-field-stay",
        "A part of a field that a mask names stays if the request leaves out the whole field.",
        "server/update_masks.py",
        "            inside.SetInParent()\n",
        "",
    ),
    Bug(
        "integers-beyond-all-numbers-of-a-column",
        "An integer in JSON that no double holds keeps a writer from the other messages.",
        "tables/json_values.py",
        "except (ValueError, TypeError, ArithmeticError, InvalidArgument, KeyError):",
        "except (ValueError, TypeError, InvalidArgument, KeyError):",
    ),
    Bug(
        "decimals-without-precision",
        "A decimal without its precision ends every publish in a KeyError.",
        "policy/schemas/avro.py",
        "_without(self._given, _is_ignored), self.named",
        "self._given, self.named",
    ),
    Bug(
        "branches-beside-a-date",
        "A message with a string in a union with a date ends its publish in a ValueError.",
        "policy/schemas/avro.py",
        "        except Exception:\n            return False\n",
        "        except SchemaMismatch:\n            return False\n",
    ),
    Bug(
        "defaults-of-every-branch",
        "A default is never found to be of no branch of a union.",
        "policy/schemas/avro_defaults.py",
        "                self._fits[key] = False\n",
        "                self._fits[key] = True\n",
    ),
    Bug(
        "types-looked-at-at-each-use",
        "A definition of types that use each other twice keeps a server busy for hours.",
        "policy/schemas/avro.py",
        "        check_empty(named)\n",
        "",
    ),
)
