"""Bugs in branches that no test without Java ran until their coverage was measured."""

from __future__ import annotations

from tests.mutations.bug import Bug

BUGS_OF_UNTESTED_BRANCHES = (
    Bug(
        "storage-that-fails-after-a-lease-ends-its-pull",
        "A pull fails, and holds what it has leased, as dead letters cannot be forwarded now.",
        "delivery/consuming.py",
        "        except Exception as error:  # what was decided",
        "        except KeyError as error:  # what was decided",
    ),
    Bug(
        "dead-letters-overtake-those-that-could-not-be-written",
        "The second part of many dead letters is appended though the first one was not.",
        "delivery/dead_letters.py",
        "        if target in unwritable:",
        "        if target in unwritable and count:",
    ),
    Bug(
        "dead-letters-that-cannot-be-measured-end-every-pull",
        "A subscription with many damaged dead letters delivers nothing any more.",
        "delivery/dead_letters.py",
        "    except Exception:  # unreadable messages are reported",
        "    except KeyError:  # unreadable messages are reported",
    ),
    Bug(
        "row-that-was-changed-meanwhile-counts-as-deleted",
        "A deletion is told as done though an update was faster, and the resource is still there.",
        "tables/registry/resource_table.py",
        "                if self._lane.delete(self._table, unchanged, self._new_id()):",
        "                if self._lane.delete(self._table, unchanged, self._new_id()) >= 0:",
    ),
    Bug(
        "creation-that-lost-a-race-was-there-before",
        "Who creates a resource while another one is created is told that it exists.",
        "tables/registry/resource_table.py",
        '            if self.row(row["uid"]) is None:\n                raise',
        '            if self.row(row["uid"]) is None:\n                return False',
    ),
    Bug(
        "topic-is-deleted-twice",
        "Of two that delete a topic at the same time both are told that they have.",
        "tables/registry/registry.py",
        "            if not is_living(row):",
        "            if row is None:",
    ),
    Bug(
        "snapshot-is-deleted-twice",
        "Of two that delete a snapshot at the same time both are told that they have.",
        "operations/snapshot.py",
        "    if not tables.registry.hide_snapshot(stored.uid, wanted):",
        "    if not tables.registry.hide_snapshot(stored.uid, wanted) and wanted:",
    ),
    Bug(
        "schema-is-deleted-twice",
        "Of two that delete a schema at the same time both are told that they have.",
        "operations/schemas.py",
        "    if not tables.registry.schemas.remove(tables.schema(name).uid):",
        "    if tables.registry.schemas.remove(tables.schema(name).uid) is None:",
    ),
    Bug(
        "revision-of-a-deleted-schema-is-an-error-of-ours",
        "Who deletes a revision while another deletes the schema sees an AttributeError.",
        "operations/schemas.py",
        "    if tables.registry.schemas.change(schema.uid, decide) is None or gone is None:",
        "    if tables.registry.schemas.change(schema.uid, decide) is not None and gone is None:",
    ),
    Bug(
        "snapshot-loses-the-labels-that-no-path-names",
        "An UpdateSnapshot of one label removes the others.",
        "server/subscriber_service.py",
        "                wire.snapshot_message(stored),\n                wire.SNAPSHOT_FIELDS,",
        "                request.snapshot,\n                wire.SNAPSHOT_FIELDS,",
    ),
    Bug(
        "duration-beyond-time-is-an-error-of-ours",
        "A request with 2^62 seconds is told as INTERNAL.",
        "server/wire.py",
        "        return exactly(duration.seconds + Fraction(duration.nanos, 10**9))\n"
        "    except OverflowError:",
        "        return exactly(duration.seconds + Fraction(duration.nanos, 10**9))\n"
        "    except ZeroDivisionError:",
    ),
    Bug(
        "schema-settings-need-no-schema",
        "Who forgets the name of a schema is told that '' is no name, and not of which field.",
        "server/schema_wire.py",
        "    if not settings.schema:\n        raise",
        "    if settings.schema is None:\n        raise",
    ),
    Bug(
        "deadline-after-a-nack-is-a-success",
        "A client extends what it has nacked, and believes that it still has it.",
        "server/leaser.py",
        "            future.fail(ack_id)\n            future.settle()\n\n    def _place_of",
        "            future.settle()\n\n    def _place_of",
    ),
    Bug(
        "dispatcher-ends-with-an-unexpected-error",
        "Nothing is delivered any more after one error that nobody expected.",
        "server/dispatcher.py",
        "            except Exception:\n"
        '                logger.exception("%s: the dispatcher goes on"',
        "            except OSError:\n"
        '                logger.exception("%s: the dispatcher goes on"',
    ),
    Bug(
        "deleted-subscription-holds-up-what-a-server-left",
        "What a killed server held is not taken over while one of its subscriptions is gone.",
        "server/hub.py",
        "        except (NotFound, Detached):\n"
        "            return\n"
        "        except DataLoss as error:",
        "        except Detached:\n            return\n        except DataLoss as error:",
    ),
    Bug(
        "journal-that-is-being-begun-counts",
        "What a killed server wrote to a new file is taken over beside the old one.",
        "server/lease_journals.py",
        "        if _UID.fullmatch(path.name):",
        "        if _UID.match(path.name):",
    ),
    Bug(
        "journal-goes-on-after-a-part-of-a-line",
        "A full disk breaks a line, and the next one ends it.",
        "server/lease_journals.py",
        "        if file.write(written) != len(written):",
        "        if not file.write(written):",
    ),
    Bug(
        "public-key-signs",
        "A server starts with public keys, and pushes nothing.",
        "server/push_keys.py",
        "    if not key.is_private:",
        "    if key is None:",
    ),
    Bug(
        "unreadable-keys-are-not-found",
        "Receivers are told that there are no keys, while the file cannot be read.",
        "server/rest/gateway.py",
        "        except PubSubError as error:\n"
        "            return error_response(error)\n"
        "        return error_response(_no_method(head)) if found",
        "        except PubSubError:\n"
        "            return error_response(_no_method(head))\n"
        "        return error_response(_no_method(head)) if found",
    ),
    Bug(
        "any-member-is-true-or-false",
        "1 and [] are rows of a BOOLEAN column.",
        "tables/json_values.py",
        "        return _of(bool, value)",
        "        return bool(value)",
    ),
    Bug(
        "any-text-is-base64",
        "Characters that are no Base64 are left out of the bytes of a column.",
        "tables/json_values.py",
        "        return base64.b64decode(text, validate=True)",
        "        return base64.b64decode(text)",
    ),
    Bug(
        "true-is-a-number",
        "true is 1 in a column of numbers.",
        "tables/json_values.py",
        "    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):",
        "    if not isinstance(value, (int, float, Decimal, str)):",
    ),
    Bug(
        "tables-of-a-catalog-store-are-in-the-working-directory",
        "A store in a catalog writes to None/shop/orders.",
        "tables/targets.py",
        "        if self.root is None:\n            raise Unwritable(",
        '        if self.root == "":\n            raise Unwritable(',
    ),
    Bug(
        "positions-that-are-all-missing-are-an-error",
        "A search for messages none of which is held ends in an IndexError.",
        "policy/positions.py",
        "        if not len(found):\n            return np.zeros",
        "        if not len(positions):\n            return np.zeros",
    ),
    Bug(
        "commit-metadata-must-be-json",
        "A topic cannot be read since somebody has optimized it with a note of their own.",
        "tables/messages/commits.py",
        "    except ValueError:\n        return {}\n    return metadata",
        "    except TypeError:\n        return {}\n    return metadata",
    ),
    Bug(
        "long-history-has-no-messages-within-a-time",
        "A seek to a time in a topic of many commits brings back too much.",
        "tables/messages/commits.py",
        "        if count > _FEW:\n            return None",
        "        if count > _FEW:\n            return []",
    ),
    Bug(
        "positions-may-have-two-rows",
        "A message id is given out twice after a row was restored beside another.",
        "tables/messages/position_allocator.py",
        "        if len(rows) != 1:",
        "        if len(rows) < 1:",
    ),
    Bug(
        "order-by-may-name-no-column",
        "order_by with a column that is not there is a KeyError.",
        "delivery/message_rows.py",
        "    if order_by is not None and order_by not in names:",
        "    if order_by is not None and not names:",
    ),
    Bug(
        "slow-definition-is-an-error-of-ours",
        "A definition that takes too long is a TimeoutExpired.",
        "protoc.py",
        "        except subprocess.TimeoutExpired:",
        "        except ValueError:",
    ),
    Bug(
        "any-value-is-an-array",
        "A number where Avro has an array is a TypeError.",
        "policy/schemas/avro_json.py",
        "        if not isinstance(value, list):",
        "        if value is None:",
    ),
    Bug(
        "empty-text-is-a-message-of-protobuf",
        "A JSON text or list that is empty is published where the schema has a message.",
        "policy/schemas/protobuf_json.py",
        "        _must(isinstance(given, Mapping), given, field)\n",
        "        _must(isinstance(given, Mapping) or not given, given, field)\n",
    ),
    Bug(
        "empty-list-is-one-message-of-protobuf",
        "A JSON list that is empty is published where the schema has one message.",
        "policy/schemas/protobuf_json.py",
        "    if field.is_repeated and isinstance(given, list):",
        "    if isinstance(given, list):",
    ),
    Bug(
        "write-is-given-back-though-nobody-knows-whether-it-landed",
        "A table that cannot be opened for a moment gets rows twice.",
        "delivery/table_writes.py",
        "        if is_wanted:\n"
        "            raise\n"
        "        return table_writes.given_back  # nobody",
        "        return table_writes.given_back  # nobody",
    ),
    Bug(
        "write-to-a-table-that-takes-none-any-more-stays-for-ever",
        "A message is written for ever to a table that has other columns by now.",
        "delivery/table_writes.py",
        "    except Unwritable:\n        return None\n    return None if made",
        "    except DataLoss:\n        return None\n    return None if made",
    ),
    Bug(
        "subscription-is-hidden-by-its-table",
        "No subscription is listed while the table of one does not respond.",
        "delivery/table_writes.py",
        "    except Exception:  # a storage that does not respond",
        "    except DataLoss:  # a storage that does not respond",
    ),
    Bug(
        "field-takes-the-column-of-metadata",
        "Message ids are overwritten by a field of that name.",
        "tables/target_rows.py",
        "                if name in self._fields:\n                    wrong",
        "                if name in self._fields and not config.use_topic_schema:\n"
        "                    wrong",
    ),
    Bug(
        "cleared-schema-refuses-every-message",
        "A publish fails as its topic has just lost its schema.",
        "delivery/schemas.py",
        "    if settings is None:\n        return None\n    if schema is None:",
        "    if schema is None or settings is None:",
    ),
    Bug(
        "half-precision-order-is-an-error-of-arrows",
        "order_by with half-precision numbers is an ArrowTypeError.",
        "delivery/message_rows.py",
        "    except (pa.ArrowException, NotImplementedError):",
        "    except NotImplementedError:",
    ),
    Bug(
        "deleted-topic-has-no-label",
        "Metrics of a deleted topic's subscription have an empty label.",
        "operations/metrics.py",
        '        return {"topic": DELETED_TOPIC}',
        '        return {"topic": ""}',
    ),
    Bug(
        "snapshots-are-not-measured",
        "The metrics of a store lack its snapshots.",
        "operations/metrics.py",
        "        yield partial(_of_name, measurement, snapshot.name)",
        "        if snapshot.labels:\n"
        "            yield partial(_of_name, measurement, snapshot.name)",
    ),
    Bug(
        "name-of-another-collection-is-not-found",
        "Who asks for metrics of a schema is told to create it.",
        "operations/metrics.py",
        '    if kind not in ("", "subscriptions", "topics", "snapshots"):',
        "    if kind is None:",
    ),
    Bug(
        "topic-without-a-sample-has-no-bytes",
        "A topic whose last commits are no publishes is told as empty.",
        "tables/messages/sizes.py",
        "        if mean is None:\n            return Measured(self._messages.byte_count())",
        "        if mean is None:\n            return Measured(0, is_estimate=True)",
    ),
    Bug(
        "refused-publish-is-in-doubt",
        "A publish that the storage refuses is told as one that may have landed.",
        "tables/messages/messages.py",
        "        if isinstance(error, StorageRefused):\n            return False",
        "        if isinstance(error, KeyError):\n            return False",
    ),
    Bug(
        "policy-that-stays-is-told-as-an-error",
        "A dead-letter policy is stored, and told as failed.",
        "operations/administer.py",
        "        except Exception as failed:\n"
        "            raise Unknown(\n"
        '                "dead_letter_policy: it is',
        "        except KeyError as failed:\n"
        "            raise Unknown(\n"
        '                "dead_letter_policy: it is',
    ),
    Bug(
        "unexpected-error-has-no-reply",
        "A client of REST gets no reply after an error that nobody expected.",
        "server/rest/gateway.py",
        '        except Exception as error:\n            logger.error("%s %s failed',
        '        except OSError as error:\n            logger.error("%s %s failed',
    ),
    Bug(
        "selection-may-end-too-early",
        "fields=topics(name is answered as if it were whole.",
        "server/rest/selection.py",
        '            if not self._next(")"):',
        '            if not self._next(")") and self.tokens:',
    ),
    Bug(
        "stream-that-says-nothing-is-an-error",
        "A stream that ends before its first request is an AttributeError.",
        "server/streams.py",
        "        if first is None:\n            return",
        "        if first is None and requests is None:\n            return",
    ),
    Bug(
        "lookup-without-a-thread-takes-a-place",
        "A process that was out of threads for a while looks no name up any more.",
        "server/name_lookups.py",
        "            _threads.release()\n            raise",
        "            raise",
    ),
    Bug(
        "tokens-are-kept-for-ever",
        "A server keeps a token of every audience that it has ever pushed to.",
        "server/push_tokens.py",
        "        if len(self._signed) >= _MAX_TOKENS:",
        "        if len(self._signed) > 2 * _MAX_TOKENS:",
    ),
    Bug(
        "older-log-of-a-topic-is-not-noticed",
        "A topic's table was replaced by an older copy, and its next messages are passed over.",
        "tables/messages/commits.py",
        "        if behind < 0:\n            raise DataLoss(",
        "        if behind < -9:\n            raise DataLoss(",
    ),
    Bug(
        "deletion-vectors-are-not-noticed",
        "Rows that are deleted by a vector are delivered.",
        "tables/lanes/direct/table_snapshots.py",
        "        if protocol.min_reader_version > 1:",
        "        if protocol.min_reader_version > 3:",
    ),
    Bug(
        "row-group-without-statistics-has-no-positions",
        "Messages of a file without statistics are passed over.",
        "tables/lanes/direct/table_snapshots.py",
        "    return 0, 2**63 - 1\n",
        "    return 0, 0\n",
    ),
)
