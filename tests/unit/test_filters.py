"""Filters: what they mean, and how a wrong one is refused (spec sections 7 and 11)."""

from __future__ import annotations

import re
from functools import partial

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pubsub_delta.errors import InvalidArgument
from pubsub_delta.policy.filter_terms import And, Equals, Filter, Has, HasPrefix, Not, Or
from pubsub_delta.policy.filters import MAX_FILTER_BYTES, matches, parse_filter
from tests.unit.filter_cases import FILTER_CASES


@pytest.mark.parametrize(("text", "attributes", "expected"), FILTER_CASES)
def test_a_filter_decides_by_the_attributes(
    text: str, attributes: dict[str, str], expected: bool
) -> None:
    assert matches(parse_filter(text), attributes) is expected


def test_the_table_of_cases_repeats_none_and_answers_both_ways() -> None:
    shown = [(text, sorted(attributes.items())) for text, attributes, _ in FILTER_CASES]
    assert all(shown.count(each) == 1 for each in shown)
    assert len(shown) >= 60
    assert {expected for _, _, expected in FILTER_CASES} == {True, False}


# Trees

A, B, C = Has("a"), Has("b"), Has("c")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("", None),
        (" \n ", None),  # "A filter of blanks is no filter."
        ("attributes:a", A),
        ('attributes:"a"', A),
        ('attributes.a = "x"', Equals("a", "x")),
        ('attributes.a != "x"', Not(Equals("a", "x"))),
        ('NOT attributes.a != "x"', Not(Not(Equals("a", "x")))),
        ('hasPrefix(attributes.a, "x")', HasPrefix("a", "x")),
        ("NOT attributes:a", Not(A)),
        ("-attributes:a", Not(A)),
        ("((attributes:a))", A),
        ("attributes:a AND attributes:b AND attributes:c", And((A, B, C))),
        ("attributes:a OR attributes:b OR attributes:c", Or((A, B, C))),
        ("(attributes:a AND attributes:b) OR -attributes:c", Or((And((A, B)), Not(C)))),
        ("attributes:a AND (attributes:b AND attributes:c)", And((A, And((B, C))))),
        ("NOT (attributes:a OR attributes:b) AND attributes:c", And((Not(Or((A, B))), C))),
        (r'attributes."\u0061" = "\x78"', Equals("a", "x")),
    ],
)
def test_a_filter_is_one_tree(text: str, tree: Filter | None) -> None:
    # "filter := term { AND term } | term { OR term }"
    assert parse_filter(text) == tree


def test_deep_parentheses_are_read() -> None:
    depth = (MAX_FILTER_BYTES - len("attributes:a")) // 2
    assert parse_filter("(" * depth + "attributes:a" + ")" * depth) == A


# The limit: "> 256 UTF-8 bytes → INVALID_ARGUMENT"


def filter_of(size: int, character: str = "x") -> str:
    """Return a filter of so many bytes, most of them in its string."""
    room = size - len('attributes.a = ""')
    width = len(character.encode())
    return f'attributes.a = "{character * (room // width)}{"y" * (room % width)}"'


@pytest.mark.parametrize("character", ["x", "é", "€", "😀"])
def test_a_filter_has_at_most_256_bytes(character: str) -> None:
    for size in (255, 256):
        assert len(filter_of(size, character).encode()) == size
        assert isinstance(parse_filter(filter_of(size, character)), Equals)
    with pytest.raises(InvalidArgument, match=r"257 bytes; at most 256 are accepted"):
        parse_filter(filter_of(257, character))


def test_the_limit_counts_what_was_written_not_what_it_means() -> None:
    padded = filter_of(250)
    assert parse_filter(padded + " " * 6) == parse_filter(padded)
    with pytest.raises(InvalidArgument, match="257 bytes"):
        parse_filter(padded + " " * 7)
    with pytest.raises(InvalidArgument, match="257 bytes"):
        parse_filter(r'attributes.a = "' + r"\u0041" * 40 + '"')


# What is refused: "pointing at the column"; "Columns in filter errors count from 1"

X = "attributes:x"
MIXED = "AND and OR cannot be mixed without parentheses"
TERM = "stands where ( or attributes or hasPrefix should"
ESCAPES = r"is not an escape; \" \\ \n \uXXXX \xHH \OOO are accepted"

REFUSED: list[tuple[str, int, str]] = [
    # "AND and OR are never mixed at one level without parentheses"
    (f"{X} AND {X} OR {X}", 31, MIXED),
    (f"{X} OR {X} AND {X}", 30, MIXED),
    (f"{X} AND ({X} OR {X} AND {X})", 48, MIXED),
    # "Operators are upper case"
    (f"{X} and {X}", 14, "operators are upper case: AND"),
    (f"{X} or {X}", 14, "operators are upper case: OR"),
    (f"{X} And {X}", 14, "operators are upper case: AND"),
    (f"not {X}", 1, "operators are upper case: NOT"),
    (f"{X} AND Not {X}", 18, "operators are upper case: NOT"),
    # "`NOT NOT x` … refused": a term has one negation at most
    (f"NOT NOT {X}", 5, TERM),
    (f"--{X}", 2, TERM),
    (f"-NOT {X}", 2, TERM),
    (f"NOT -{X}", 5, TERM),
    (f"NOT{X}", 1, f"'NOT{X[:9]}' stands where"),
    # functions
    ('hasSuffix(attributes.x, "y")', 1, "'hasSuffix(at' stands where"),
    ('hasprefix(attributes.x, "y")', 1, "'hasprefix(at' stands where"),
    ('hasPrefix(attributes:x, "y")', 21, "stands where . should"),
    ("hasPrefix(attributes.x)", 23, "stands where , should"),
    ("hasPrefix(attributes.x, y)", 25, 'stands where a "string" should'),
    ('hasPrefix attributes.x, "y"', 11, "stands where ( should"),
    ('hasPrefix(attributes.x, "y"', 28, "it ends where ) should follow"),
    # quotes
    ("attributes.x = y", 16, 'stands where a "string" should'),
    ("attributes.x = 'y'", 16, 'stands where a "string" should'),
    ('attributes.x = "y', 16, "a string has no closing quote"),
    ('attributes.x = y"', 16, 'stands where a "string" should'),
    (r'attributes.x = "y\"', 16, "a string has no closing quote"),
    ('attributes:"x', 12, "a string has no closing quote"),
    ("attributes:é", 12, "a key"),
    # parentheses
    (f"({X}", 14, "it ends where ) should follow"),
    (f"(({X})", 16, "it ends where ) should follow"),
    (f"{X})", 13, "')' stands where the end should"),
    ("()", 2, "')' stands where"),
    (f"{X} AND ( )", 20, "')' stands where"),
    ("attributes:(x)", 12, "'(x)' stands where"),
    # "data cannot be filtered"
    (
        'data = "x"',
        1,
        "'data = \"x\"' stands where ( or - or NOT or attributes or hasPrefix should; "
        "only attributes can be filtered",
    ),
    ("data:x", 1, "'data:x' stands where"),
    ('ordering_key = "x"', 1, "should; only attributes can be filtered"),
    (f'{X} AND message_id = "1"', 18, "should; only attributes can be filtered"),
    ('"x"', 1, "'\"x\"' stands where"),
    # "escapes outside the grammar are refused"
    (r'attributes.x = "\q"', 17, rf"\q {ESCAPES}"),
    (r'attributes.x = "ab\t"', 19, rf"\t {ESCAPES}"),
    (r"""attributes.x = "\'" """, 17, rf"\' {ESCAPES}"),
    (r'attributes.x = "\\\q"', 19, rf"\q {ESCAPES}"),
    (r'attributes.x = "\u12"', 17, rf"\u {ESCAPES}, with 4 hexadecimal digits"),
    (r'attributes.x = "\U0001F600"', 17, rf"\U {ESCAPES}"),
    (r'attributes.x = "\xg1"', 17, rf"\x {ESCAPES}, with 2 hexadecimal digits"),
    (r'attributes.x = "\8"', 17, rf"\8 {ESCAPES}"),
    (r'attributes.x = "\18"', 17, rf"\1 {ESCAPES}, with 3 octal digits from \000 to \377"),
    (r'attributes.x = "\400"', 17, rf"\4 {ESCAPES}"),
    (r'attributes:"\q"', 13, rf"\q {ESCAPES}"),
    (r'attributes."é" = "é\q"', 20, rf"\q {ESCAPES}"),  # characters, not bytes
    (r'attributes.x = "\ud83d"', 17, "surrogate"),
    (r'attributes.x = "\ude00\ud83d"', 17, "surrogate"),
    (r'attributes:"\ud83d"', 13, "surrogate"),
    ('attributes.x = "\ud83d"', 17, "surrogate"),
    # what is missing
    ("attributes", 11, "it ends where . or : should follow"),
    ("attributes:", 12, "it ends where"),
    ("attributes.x", 13, "it ends where != or = should follow"),
    ("attributes.x =", 15, 'it ends where a "string" should follow'),
    (f"{X} AND", 17, "it ends where"),
    (f"{X} AND NOT", 21, "it ends where"),
    ("NOT", 4, "it ends where"),
    (f"AND {X}", 1, "'AND attribut' stands where"),
    (f"{X} AND AND {X}", 18, "'AND attribut' stands where"),
    # what is too much
    (f"{X} y", 14, "'y' stands where AND or OR or the end should"),
    (f"{X} {X}", 14, "'attributes:x' stands where AND or OR or the end should"),
    (f"{X};", 13, "';' stands where"),
    ('attributes.x = "y" z', 20, "'z' stands where AND or OR or the end should"),
    ('attributes.x = "y" = "z"', 20, "stands where AND or OR or the end should"),
    ('attributes.x == "y"', 15, 'stands where a "string" should'),
    ('attributes.x < "y"', 14, "'< \"y\"' stands where != or = should"),
    ("attributes:x && attributes:y", 14, "'&& attribute' stands where AND or OR or the end should"),
    ('attributes.x.y = "z"', 13, "stands where != or = should"),
    (f"{X} AND\nb", 18, "'b' stands where"),  # columns count from the start of the text
]


@pytest.mark.parametrize(("text", "column", "what"), REFUSED)
def test_a_wrong_filter_is_refused_at_its_column(text: str, column: int, what: str) -> None:
    # "Every error says what was wrong, the offending value, and what would be accepted."
    with pytest.raises(InvalidArgument) as told:
        parse_filter(text)
    before, found, after = str(told.value).partition(f", column {column}: ")
    assert (before, bool(found)) == (f"filter: {text!r}", True)
    assert what in after


@pytest.mark.parametrize("text", [None, 7, b"attributes:a", ["attributes:a"], A])
def test_what_is_not_a_string_is_refused(text: object) -> None:
    with pytest.raises(InvalidArgument, match=re.escape(f"filter: {text!r} is not a string")):
        parse_filter(text)  # type: ignore[arg-type]


# Any tree, written out and read again

KEYS = st.sampled_from(["a", "b", "my-key", "AND", "attributes", "two words", 'q"\\', "é"])
VALUES = st.text(st.sampled_from('xy"\\\n é€😀-()'), max_size=3)
BASIC = st.one_of(
    st.builds(Has, KEYS), st.builds(Equals, KEYS, VALUES), st.builds(HasPrefix, KEYS, VALUES)
)
TREES: st.SearchStrategy[Filter] = st.recursive(
    BASIC,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(And, st.lists(inner, min_size=2, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=6,
)


class Writer:
    """Writes a tree as a filter, choosing among the ways to write the same."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data

    def choose(self, *ways: str) -> str:
        return self.data.draw(st.sampled_from(ways))

    def maybe(self) -> bool:
        return self.data.draw(st.booleans())

    def filter(self, tree: Filter) -> str:
        match tree:
            case And(terms):
                return self.joined("AND", terms)
            case Or(terms):
                return self.joined("OR", terms)
        return self.term(tree)

    def joined(self, operator: str, terms: tuple[Filter, ...]) -> str:
        return f" {operator}{self.choose(' ', '  ', chr(10))}".join(map(self.term, terms))

    def term(self, tree: Filter) -> str:
        match tree:
            case Not(Equals(key, value)) if self.maybe():
                return f"attributes.{self.key(key)}{self.gap()}!={self.gap()}{self.string(value)}"
            case Not(term):
                return self.choose("NOT ", "-", "- ") + self.positive(term)
        return self.positive(tree)

    def positive(self, tree: Filter) -> str:
        match tree:
            case Has(key):
                return f"attributes{self.gap()}:{self.gap()}{self.key(key)}"
            case Equals(key, value):
                return f"attributes.{self.key(key)}{self.gap()}={self.gap()}{self.string(value)}"
            case HasPrefix(key, value):
                return f"hasPrefix(attributes.{self.key(key)},{self.gap()}{self.string(value)})"
        return f"({self.gap()}{self.filter(tree)}{self.gap()})"

    def gap(self) -> str:
        return self.choose("", " ")

    def key(self, key: str) -> str:
        plain = re.fullmatch(r"[A-Za-z0-9_-]+", key)
        return key if plain and self.maybe() else self.string(key)

    def string(self, text: str) -> str:
        return '"' + "".join(map(self.character, text)) + '"'

    def character(self, each: str) -> str:
        code = ord(each)
        ways = [each] if each not in '"\\\n' else [{"\n": r"\n"}.get(each, "\\" + each)]
        if code < 0x80:
            ways += [f"\\x{code:02x}", f"\\{code:03o}"]
        units = each.encode("utf-16-be")
        ways.append("".join(f"\\u{units[n : n + 2].hex()}" for n in range(0, len(units), 2)))
        return self.choose(*ways)


def passes(tree: Filter, attributes: dict[str, str]) -> bool:
    """Tell by the words of the specification whether a message matches."""
    decide = partial(passes, attributes=attributes)
    if isinstance(tree, Has):
        return tree.key in attributes
    if isinstance(tree, Equals):
        return (tree.key, tree.value) in attributes.items()
    if isinstance(tree, HasPrefix):
        return attributes.get(tree.key, "\0")[: len(tree.value)] == tree.value and decide(
            Has(tree.key)
        )
    if isinstance(tree, Not):
        return not decide(tree.term)
    verdicts = [decide(term) for term in tree.terms]
    return False not in verdicts if isinstance(tree, And) else True in verdicts


@given(tree=TREES, attributes=st.lists(st.dictionaries(KEYS, VALUES), min_size=3), data=st.data())
def test_a_tree_that_is_written_out_reads_as_the_same_filter(
    tree: Filter, attributes: list[dict[str, str]], data: st.DataObject
) -> None:
    text = Writer(data).filter(tree)
    assume(len(text.encode()) <= MAX_FILTER_BYTES)
    read = parse_filter(text)
    assert read == tree
    for each in [{}, *attributes]:
        assert matches(read, each) == passes(tree, each)
