"""Which views are created, replaced and left alone, by what is there when they are looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from pubsub_delta.errors import DataLoss, FailedPrecondition, InvalidArgument, NotFound
from pubsub_delta.operations import views as operation
from pubsub_delta.operations.views import ViewsReport, create_views
from pubsub_delta.tables.lanes.protocol import Conflict, TableMissing
from pubsub_delta.tables.lanes.spark import views as spark_views
from pubsub_delta.tables.store import Tables
from tests.unit.in_memory import InMemory

OURS, THEIRS = {"digest": "of old"}, None


class Place:
    """Where views are: what they are called, and whose they are."""

    def __init__(self, there: dict[str, Mapping[str, str] | None]) -> None:
        self.there = there
        self.did: list[tuple[str, bool]] = []
        self.meanwhile: Callable[[], None] | None = None

    def identity(self, name: str) -> Mapping[str, str] | None:
        if name not in self.there:
            raise TableMissing(name)
        return self.there[name]

    def digest(self, query: str, typing: object) -> str:
        return f"of {query}" if typing is None else f"of {query} and {typing}"

    def show(self, name: str, shown: object, query: str, typing: object, *, replace: bool) -> None:
        if self.meanwhile is not None:
            self.meanwhile()
            self.meanwhile = None
        if name in self.there and not replace:
            raise Conflict("TABLE_OR_VIEW_ALREADY_EXISTS")
        self.did.append((name, replace))
        self.there[name] = {"digest": self.digest(query, typing)}


def make(place: Place, query: str | None = "new", typing: object = None) -> str:
    wanted: Any = operation._View("orders", None, query, typing)  # type: ignore[arg-type]
    try:
        return operation._make(place, "orders", wanted)  # type: ignore[arg-type]
    except operation._Refused as error:
        return f"refused: {error}"


def test_a_view_that_is_not_there_is_created_and_replaces_nothing() -> None:
    place = Place({})
    assert make(place) == "created"
    assert place.did == [("orders", False)]


def test_a_view_of_ours_is_replaced_where_it_shows_something_else() -> None:
    place = Place({"orders": OURS})
    assert make(place, "old") == "unchanged"
    assert place.did == []
    assert make(place) == "replaced"
    assert place.did == [("orders", True)]


def test_a_view_is_replaced_where_the_fields_of_its_messages_have_changed() -> None:
    place = Place({"orders": {"digest": "of old and one revision"}})
    assert make(place, "old", "one revision") == "unchanged"
    assert make(place, "old", "two revisions") == "replaced"


def test_what_is_not_ours_stays_as_it_is() -> None:
    # "a user's view or table of the same name is never overwritten"
    place = Place({"orders": THEIRS})
    assert make(place).startswith("refused: a table or view of this name is there")
    assert (place.there, place.did) == ({"orders": THEIRS}, [])


@pytest.mark.parametrize(("came", "outcome"), [(OURS, "replaced"), (THEIRS, "refused")])
def test_what_comes_between_the_look_and_the_creation_is_looked_at_again(
    came: Mapping[str, str] | None, outcome: str
) -> None:
    # "a second process doing the opposite between two lines"
    place = Place({})
    place.meanwhile = lambda: place.there.update(orders=came)
    assert make(place).startswith(outcome)
    assert (place.there["orders"] is THEIRS) == (outcome == "refused")


@pytest.mark.parametrize("why", [DataLoss("a commit is damaged"), TableMissing("orders")])
def test_a_table_that_is_damaged_is_told_of_its_view_alone(why: DataLoss) -> None:
    """ "A view that cannot be created is reported, and the other views are created"."""
    place = Place({})

    def fail() -> None:
        raise why

    place.meanwhile = fail
    assert make(place) == f"refused: {why}"


AnalysisException: Any = vars(spark_views)["AnalysisException"]


class Gone(AnalysisException):  # type: ignore[misc]
    """As Spark tells that there is no table at the path of a topic's messages."""

    def __init__(self) -> None:
        Exception.__init__(self)

    def __str__(self) -> str:
        return "[PATH_NOT_FOUND]"

    def getCondition(self) -> str:
        return "PATH_NOT_FOUND"


@pytest.mark.parametrize("typing", [None, "fields"])
def test_a_view_whose_table_is_gone_names_the_resource_of_that_table(typing: Any) -> None:
    """It told that a table of "a view" is gone, and to restore it from a copy."""

    def sql(_: str) -> None:
        raise Gone

    session: Any = SimpleNamespace(sql=sql)
    name = "projects/local/topics/orders"
    subject = spark_views.ViewSubject(name, "topics", "u1", "topic")
    with pytest.raises(TableMissing, match=f"^{name}: this table is gone, "):
        spark_views.Views(session, None, "./store", "local").show(
            "orders", subject, "its messages", typing, replace=False
        )


def test_a_backlog_that_no_text_can_say_leaves_the_view_as_it_was() -> None:
    place = Place({"orders": OURS})
    assert "too many pieces" in make(place, None)
    assert place.did == []


def test_a_report_lists_what_was_done_and_what_is_there() -> None:
    report = ViewsReport(("b",), ("a",), ("c",), ("d",), {"e": "why"}, {"f": "it is in binary"})
    assert report.views == ("a", "b", "c")
    told = ["created: b", "replaced: a", "dropped: d", "refused: e: why"]
    told.append("without fields: f: it is in binary")
    assert list(report.lines()) == told


def test_a_place_that_is_none_is_refused_before_anything_is_asked() -> None:
    tables: Any = Tables(None, "./store")
    now: Any = None
    for schema, temporary, told in (
        ("bi", True, "one of the two is accepted"),
        ("/data/x", None, "is a path"),
        ("a.b.c", None, "^schema: 'a.b.c' is not"),
        ("", None, "^schema: '' is not"),
        (None, False, "^schema: it is not given.* such as bi or main.bi"),
    ):
        with pytest.raises(InvalidArgument, match=told):
            create_views(tables, "local", now, schema, temporary=temporary)
    with pytest.raises(InvalidArgument, match=r"^tables_root: 'a\.b\.c' is not"):
        Tables(None, "./store", tables_root="a.b.c")
    with pytest.raises(InvalidArgument, match="prefix"):
        create_views(tables, "local", now, "bi", "a b")
    for schema in ("bi", None):  # None: the session's
        with pytest.raises(FailedPrecondition, match="needs Spark"):
            create_views(tables, "local", now, schema)


class Catalog(Place):
    """The views of a whole store, some of them of others."""

    def names(self) -> list[str]:
        return list(self.there)

    def drop(self, name: str) -> None:
        del self.there[name]

    def digest(self, query: str, typing: object) -> str:
        return "of now"


def created(monkeypatch: pytest.MonkeyPatch, there: dict[str, Mapping[str, str] | None]) -> Any:
    pytest.importorskip("pyspark")
    world, catalog = InMemory(), Catalog(there)
    monkeypatch.setattr(type(world.tables), "spark", object())
    monkeypatch.setattr(type(world.tables.lanes), "session_for", lambda *_: object())
    monkeypatch.setattr("pubsub_delta.tables.lanes.spark.views.Views", lambda *_: catalog)
    return create_views(world.tables, "local", world.now, temporary=True), catalog


def test_every_resource_has_its_view_and_what_is_gone_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Views are those of the resources; what others have made stays, whatever its name."""
    fresh, catalog = created(monkeypatch, {})
    assert len(fresh.created) == 3, "two topics, and the backlog of one subscription"
    assert set(fresh.created) == set(catalog.there)
    assert (fresh.dropped, fresh.refused, fresh.replaced) == ((), {}, ())
    one, two, three = sorted(fresh.created)
    there: dict[str, Mapping[str, str] | None] = {
        one.upper(): {"digest": "of now"},
        two: {"digest": "of old"},
        three: THEIRS,
        "of_nobody": THEIRS,
        "gone": OURS,
    }
    again, catalog = created(monkeypatch, dict(there))
    assert again.dropped == ("gone",)
    assert again.replaced == (two,)
    assert list(again.refused) == [three]
    assert again.refused[three]
    assert catalog.there["of_nobody"] is THEIRS
    assert catalog.there[three] is THEIRS
    assert one.upper() in catalog.there, "a catalog takes names in any case for the same"
    assert again.views == tuple(sorted((one, two)))


def test_no_view_is_dropped_while_the_store_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "Views of what was deleted are dropped": a disk that is not mounted deletes nothing."""
    absent = Tables(None, "/nowhere/store")
    monkeypatch.setattr(f"{__name__}.InMemory", lambda: SimpleNamespace(tables=absent, now=None))
    ours = Catalog({"orders": OURS})
    monkeypatch.setattr(f"{__name__}.Catalog", lambda _: ours)
    with pytest.raises(NotFound, match=r"^/nowhere/store: there is no store here"):
        created(monkeypatch, {})
    assert "orders" in ours.there


class Listed(Catalog):
    """Lists views of which another program has dropped one by the time that they are looked at."""

    def names(self) -> list[str]:
        return [*self.there, "dropped meanwhile"]


def test_a_view_that_another_program_drops_meanwhile_ends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two programs make the views of a store at the same time: both find what is no more."""
    monkeypatch.setattr(f"{__name__}.Catalog", Listed)
    report, _ = created(monkeypatch, {"gone": OURS})
    assert report.dropped == ("gone",)
    assert len(report.created) == 3


class Hive:
    """A session whose metastore answers the creation of a view with an error."""

    columns = ("message_id",)

    def __init__(self, words: str) -> None:
        self._words = words

    def sql(self, statement: str) -> Hive:
        if statement.startswith("CREATE"):
            raise vars(spark_views)["AnalysisException"](self._words)
        return self


@pytest.mark.parametrize("error", ["NoSuchObjectException", "AlreadyExistsException"])
def test_a_view_that_another_program_replaces_meanwhile_is_looked_at_again(error: str) -> None:
    """Spark replaces a view by a drop and a creation, between which another program may come."""
    words = f"org.apache.hadoop.hive.ql.metadata.HiveException: {error}(message:bi.orders table)"
    session: Any = Hive(words)
    views = spark_views.Views(session, "`bi`", "root", "local")
    subject = spark_views.ViewSubject("projects/local/topics/orders", "topics", "0", "topic")
    with pytest.raises(Conflict, match=error):
        views.show("orders", subject, "SELECT 1", None, replace=True)
