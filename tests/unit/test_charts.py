"""The pictures and figures of the pages are those of what was measured: `make pictures`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.charts import ASSETS, PAGE, RESULTS, Results, charts, figures, page, told
from benchmarks.measuring import Section, write_json
from docs.draw_pictures import pictures

REPOSITORY = Path(__file__).resolve().parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
TABLES = (REPOSITORY / "benchmarks/results.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (.+?) \| ([\d.,]+) \| ([\d.,]+) \| ([\d.,]+) \| (\d+) \|$", re.MULTILINE)


@pytest.mark.parametrize("name", sorted(charts(Results())))
def test_a_chart_that_is_committed_is_of_what_was_measured(name: str) -> None:
    assert (ASSETS / name).read_text(encoding="utf-8") == charts(Results())[name]


@pytest.mark.parametrize("name", sorted(pictures()))
def test_a_picture_that_is_committed_is_of_its_script(name: str) -> None:
    assert (ASSETS / name).read_text(encoding="utf-8") == pictures()[name]


def test_the_pictures_fetch_nothing() -> None:
    for drawn in [*charts(Results()).values(), *pictures().values()]:
        assert re.findall(r"https?://[^\"]+", drawn) == ["http://www.w3.org/2000/svg"]


def test_the_page_has_the_figures_that_were_measured() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, Results()) == text
    assert all(figure in text for figure, _ in figures(Results()))


def test_the_readme_has_the_figures_that_were_measured() -> None:
    results = Results()
    large = told(results.seconds("drain", "· ack"))
    small = told(results.seconds("small work", "direct: batch.ack()"))
    assert f"An ack of 10,000,000 messages takes {large}, one of 1,000 takes {small}" in README
    drained = sum(results.seconds("drain", f"· {step}") for step in ("pull", "read", "ack"))
    by_rows = results.seconds("drain", "row-per-message queue")
    assert f"| {told(by_rows)} | {drained:.1f} s |" in README
    callback = results.seconds("small work", "publish to callback through the server")
    assert f"| {callback:.2f} s, on a disk |" in README


def test_the_figures_of_the_tables_are_those_that_charts_are_drawn_from() -> None:
    found = {}
    for part in re.split(r"^### ", TABLES, flags=re.MULTILINE)[1:]:
        section = part.partition("\n")[0]
        for what, *numbers in ROW.findall(part):
            found[section, what] = [float(number.replace(",", "")) for number in numbers]
    assert len(found) > 50
    sections = {each["name"]: each for each in json.loads(RESULTS.read_text())["sections"]}
    for (section, what), numbers in found.items():
        timed = sections[section]["seconds"][what]
        told_by = [timed[each] for each in ("median", "min", "max", "runs")]
        assert told_by == pytest.approx(numbers, rel=0.006, abs=0.0006), what


def test_the_figures_of_object_storage_are_those_of_the_appendix() -> None:
    appendix = (REPOSITORY / "docs/performance-appendix.md").read_text(encoding="utf-8")
    table = appendix.partition("\n## Object storage\n")[2].partition("\n## ")[0]
    results = Results()
    for what in ("publish of 100", "ack", "pull of nothing", "seek to a time"):
        (row,) = re.findall(rf"^\| {what} \|.*$", table, re.MULTILINE)
        told_by = [float(cell) for cell in row.strip("| ").split("|")[2:]]
        delays = [f"{delay} ms: {what}" for delay in (0, 15, 60)]
        measured = [results.seconds("object store", each) for each in delays]
        assert told_by == [round(each, 2) for each in measured]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0274, "27 ms"), (0.9996, "1000 ms"), (2.9301, "2.93 s"), (111.3, "111 s")],
)
def test_a_time_is_told_in_few_digits(seconds: float, text: str) -> None:
    assert told(seconds) == text


def test_a_run_of_one_section_leaves_the_figures_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    first, second = Section("drain", "many"), Section("windows", "few")
    first.seconds["pull"], second.seconds["pull"] = [3.0, 1.0, 2.0], [5.0]
    write_json(path, [first, second], "a machine")
    again = Section("drain", "more")
    again.seconds["pull"] = [7.0]
    write_json(path, [again], "another machine")
    results = Results(path)
    assert results.seconds("drain", "pull") == 7.0
    assert results.seconds("windows", "pull") == 5.0
    told_by = json.loads(path.read_text())["sections"]
    assert [each["machine"] for each in told_by] == ["another machine", "a machine"]
