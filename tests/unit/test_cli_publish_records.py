"""`topics publish --from` of a file that says what it is: its records arrive as they stand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("httpcore")

from pubsub_delta.cli.records import Record, records
from tests.unit.serving_world import Terminal, WorldBackend
from tests.unit.test_cli_publish import data_of, prepared, publish, pulled


@pytest.fixture
def store() -> Terminal:
    return prepared(Terminal(WorldBackend(), None))


ROWS = (
    b'\xef\xbb\xbfid,at,"a note"\r\n00501,2026-03-29 02:30:00,"say ""hi"", \xc3\xa9"\r\n'
    b"1e3,1.10,\r\n\r\n"
)
OBJECTS = [
    '{"id":"00501","at":"2026-03-29 02:30:00","a note":"say \\"hi\\", é"}',
    '{"id":"1e3","at":"1.10","a note":""}',
]


@pytest.mark.parametrize(
    ("name", "packed"),
    [
        ("a.csv", bytes),
        ("A.CSV", bytes),
        ("a.csv.gz", gzip.compress),
        ("a.Csv.ZST", zstd.compress),
    ],
)
def test_rows_of_csv_are_objects_of_texts(
    store: Terminal, tmp_path: Path, name: str, packed: Callable[[bytes], bytes]
) -> None:
    # "read CSV as text …: `00501`, `1.10`, `1e3` and `2026-03-29 02:30:00` arrive as they stand"
    (tmp_path / name).write_bytes(packed(ROWS))
    assert publish(store, f"--from={tmp_path / name}", "--attribute=k=v").exit_code == 0
    found = pulled(store)
    assert [each.decode() for each in data_of(found)] == OBJECTS
    assert {each["attributes"]["k"] for each in found} == {"v"}


def test_a_format_that_is_named_goes_before_the_name(store: Terminal, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    assert publish(store, f"--from={tmp_path / 'a.csv'}", "--format=lines").exit_code == 0
    assert data_of(pulled(store)) == [b"id", b"1"]
    assert publish(store, "--from=-", "--format=csv", given=b"id\n1\n").exit_code == 0
    assert data_of(pulled(store)) == [b'{"id":"1"}']


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.jsonl", '{"n": 1.10}\n\n {"n": 1e3} \n', ['{"n": 1.10}', '{"n": 1e3}']),
        (
            "a.json",
            '\ufeff\n [{"n": 1.10,\n"a": [1]},\n{"n": 2}]\n',
            ['{"n": 1.10,\n"a": [1]}', '{"n": 2}'],
        ),
        ("a.ndjson", '{"n": "]"}\r\n', ['{"n": "]"}']),
        ("a.json", "[]", []),
        ("a.json", "\n", []),
        ("a.csv", "id\n", []),
        ("a.csv", "", []),
        ("a.csv", 'id,n\n1,"a\nb"\n', ['{"id":"1","n":"a\\nb"}']),
        ("a.json", '[{"é": "ß 中"}, {"a": 1}]', ['{"é": "ß 中"}', '{"a": 1}']),
    ],
)
def test_objects_arrive_as_they_stand_in_lines_or_an_array(
    store: Terminal, tmp_path: Path, name: str, text: str, expected: list[str]
) -> None:
    # "JSON lines and whole-file JSON arrays (… recognised)"; "empty input is not an error"
    (tmp_path / name).write_text(text, newline="")
    done = publish(store, f"--from={tmp_path / name}")
    assert done.exit_code == 0, done.stderr
    assert [each.decode() for each in data_of(pulled(store))] == expected


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.csv", "a,b\n1,2\n\n3\n", "line 4: it has 1 columns; 2 are accepted: a, b"),
        ("a.csv", 'a,b\n1,"x\ny"\n1,2,3\n', "line 4: it has 3 columns"),
        ("a.csv", 'a\n"x\n', "line 2: it is not CSV: unexpected end of data"),
        ("a.csv", "a,a\n1,2\n", "line 1: it names the column 'a' twice"),
        ("a.csv", "a\n\udcff\n", "line 2: it is not UTF-8"),
        ("a.csv", "\udcff\udcfea\n1\n", "line 1: it is not UTF-8"),  # UTF-16, for example
        ("a.json", '{"a":1}\n{"a":\n', "line 2: it is not JSON: Expecting value at character 6"),
        ("a.json", "7\n", "line 1: it is not a JSON object"),
        ("a.json", '[{"a":1}, 7]', "element 2: it is not a JSON object"),
        ("a.json", '[{"a":1}, [7]]', "element 2: it is not a JSON object"),
        ("a.json", '[{"a":1},\n{]', "line 2: it is not a JSON array"),
        ("a.json", '[{"a":1}]\n[{"a":2}]', "it is not a JSON array: Extra data"),
        ("a.jsonl", '{"a":' + "[" * 100_000, "line 1: it is not JSON: maximum recursion depth"),
        ("a.json", '{"a":1}\n{"a":' + "[" * 100_000, "line 2: it is not JSON: maximum recursion"),
        ("a.json", "[" * 100_000, "it is not a JSON array: maximum recursion depth"),
    ],
)
def test_a_bad_record_is_one_error_with_its_file_and_place(
    store: Terminal, tmp_path: Path, name: str, text: str, told: str
) -> None:
    # "a bad line is one clear error with its file and number"
    file = tmp_path / name
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    refused = publish(store, f"--from={file}")
    assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1)
    assert told in refused.stderr
    assert str(file) in refused.stderr
    assert pulled(store) == []


def test_bad_records_go_to_a_file_and_the_rest_is_published(
    store: Terminal, tmp_path: Path
) -> None:
    # "or goes where `--bad-records` says"
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,2\n3\n\xff,4\n5,6\n")
    bad = tmp_path / "bad.jsonl"
    done = publish(store, f"--from={tmp_path / 'a.csv'}", f"--bad-records={bad}")
    assert done.exit_code == 0
    assert done.stderr.endswith(f"Added 2 bad records to [{bad}].\n")
    assert data_of(pulled(store)) == [b'{"a":"1","b":"2"}', b'{"a":"5","b":"6"}']
    told = [json.loads(line) for line in bad.read_text().splitlines()]
    assert [(each["place"], each["record"]) for each in told] == [
        ("line 3", "3"),
        ("line 4", "\\xff,4"),
    ]
    assert {each["file"] for each in told} == {str(tmp_path / "a.csv")}


@pytest.mark.parametrize(
    ("name", "text", "messages", "bad"),
    [
        ("a.csv", 'a\n1\n"2"x\n3\n4\n', [b'{"a":"1"}'], '"2"x\n3\n4'),
        ("a.csv", "a,a\n1,2\n3,4\n", [], "a,a\n1,2\n3,4"),
        ("a.json", '[{"a":1},\n {"a":2}', [], '[{"a":1},\n {"a":2}'),
    ],
)
def test_what_is_not_published_is_in_the_file_of_bad_records(
    store: Terminal, tmp_path: Path, name: str, text: str, messages: list[bytes], bad: str
) -> None:
    # "what is no message is added to that file …, and the rest is published"
    (tmp_path / name).write_text(text)
    added = tmp_path / "bad.jsonl"
    done = publish(store, f"--from={tmp_path / name}", f"--bad-records={added}")
    assert done.exit_code == 0
    assert data_of(pulled(store)) == messages
    told = [json.loads(line)["record"] for line in added.read_text().splitlines()]
    assert "\n".join(told) == bad


def test_lines_after_one_that_ends_the_rows_are_not_told_each(
    store: Terminal, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("a,a\n1,2\n3,4\n")
    refused = publish(store, f"--from={tmp_path / 'a.csv'}")
    assert refused.exit_code == 1
    assert "line 1: it names the column 'a' twice" in refused.stderr
    assert "line 2" not in refused.stderr


def test_a_file_of_bad_records_that_cannot_be_written_is_named(
    store: Terminal, tmp_path: Path
) -> None:
    """An error says the offending value: it is not the file that is published."""
    (tmp_path / "a.csv").write_bytes(b"a,b\n3\n")
    bad = tmp_path / "absent" / "bad.jsonl"
    done = publish(store, f"--from={tmp_path / 'a.csv'}", f"--bad-records={bad}")
    assert done.exit_code == 1
    assert f"bad_records: {bad} cannot be written: No such file or directory" in done.stderr


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), max_size=9)


@given(st.lists(st.tuples(texts, texts), max_size=5))
def test_what_is_written_as_csv_is_read_as_it_was(rows: list[tuple[str, str]]) -> None:
    quoted = [",".join(f'"{value.replace(chr(34), chr(34) * 2)}"' for value in row) for row in rows]
    lines = [f"{line}\n".encode() for line in ("a,b", *quoted)]
    found: list[Record] = list(records(lines, "csv"))
    assert [json.loads(each.data) for each in found] == [{"a": a, "b": b} for a, b in rows]
    assert [each.place for each in found] == [f"line {n}" for n in range(2, len(rows) + 2)]


@pytest.mark.parametrize("written", ["%s", "[%s]", "[{}, %s]"])
def test_a_number_of_any_length_arrives_as_it_stands(written: str) -> None:
    """ "Values are kept as text, and not parsed as numbers": JSON bounds no number's digits."""
    one = f'{{"digits": {"7" * 5_000}}}'
    found = list(records([(written % one).encode()], "json"))
    assert found[-1].wrong is None
    assert found[-1].data == one.encode()


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"a":' * 100_000, b"[\xff]", b'{"a": "\xff"}'])
def test_what_is_nested_too_deeply_or_no_text_is_one_bad_record(data: bytes) -> None:
    (found,) = records([data], "json")
    assert (found.place, found.data) == ("line 1", data)
    assert found.wrong is not None
    assert found.wrong.startswith("it is not ")
