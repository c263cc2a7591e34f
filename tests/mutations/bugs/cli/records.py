"""Seeded bugs of ``cli/records.py``."""

from __future__ import annotations

from tests.mutations.bug import Bug

NEAREST = ("tests/unit/test_cli_publish_records.py",)

BUGS = (
    Bug(
        "row-of-csv-at-another-line",
        "A bad row is named by the line before it.",
        "first, before = rows.line_num + 1, len(taken)",
        "first, before = rows.line_num, len(taken)",
    ),
    Bug(
        "row-of-other-columns-published",
        "A row of CSV with more columns than there are names loses the rest without a word.",
        "elif len(row) != len(names):",
        "elif len(row) < len(names):",
    ),
    Bug(
        "array-not-recognised",
        "A JSON array is read as lines.",
        'if text.lstrip().startswith(b"["):',
        'if text.startswith(b"[["):',
    ),
    Bug(
        "a-list-is-a-record",
        "A list within a JSON array is taken for a record.",
        'isinstance(found, dict) else "it is',
        'isinstance(found, (dict, list)) else "it is',
    ),
    Bug(
        "characters-from-zero",
        "An error of a record names the character before.",
        'at character {error.pos + 1}")\n'
        "    except (ValueError, RecursionError) as error:\n"
        "        return Record(place",
        'at character {error.pos}")\n'
        "    except (ValueError, RecursionError) as error:\n"
        "        return Record(place",
    ),
    Bug(
        "deep-records",
        "A record that is too deep is a traceback.",
        "    except (ValueError, RecursionError) as error:\n"
        '        return Record(place, data, f"it is not JSON: {error}")',
        "    except ValueError as error:\n"
        '        return Record(place, data, f"it is not JSON: {error}")',
    ),
    Bug(
        "elements-in-ascii",
        "An element of a JSON array loses its letters beyond ASCII.",
        'yield _object(f"element {element}", text[at:end].encode())',
        "yield _object(f\"element {element}\", text[at:end].encode('ascii', 'replace'))",
    ),
    Bug(
        "lines-after-a-bad-row-are-left-out",
        "Lines after one that ends the rows of a CSV file are neither published nor told.",
        "for number, line in enumerate(given, start=rows.line_num + 1):",
        "for number, line in enumerate([], start=rows.line_num + 1):",
    ),
    Bug(
        "an-array-cut-off-is-its-last-line",
        "Of a JSON array that is cut off the bad records have one line only.",
        'yield Record(f"line {error.lineno}", data, f"it is not a JSON array: {error.msg}")',
        'yield Record(f"line {error.lineno}", b"[", f"it is not a JSON array: {error.msg}")',
    ),
    Bug(
        "long-number-is-no-json",
        "A record of JSON with a number of 5,000 digits is told as no JSON.",
        "_DECODER = json.JSONDecoder(parse_int=str)",
        "_DECODER = json.JSONDecoder()",
    ),
    Bug(
        "deep-record-ends-a-publish",
        "A record that is nested too deeply is a RecursionError.",
        "    except (ValueError, RecursionError) as error:\n        return Record",
        "    except ValueError as error:\n        return Record",
    ),
    Bug(
        "deep-array-ends-a-publish",
        "An array that is nested too deeply is a RecursionError.",
        "    except (ValueError, RecursionError) as error:\n        yield Record",
        "    except ValueError as error:\n        yield Record",
    ),
)
