"""Parses and writes ISO 8601 periods as gcloud does: ``P1DT2H``, ``-p1m``, ``604800s``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

_AMOUNT = r"([0-9]+(?:[.,][0-9]+)?)"
_PERIOD = re.compile(
    rf"(?P<sign>[+-]?)(?P<p>P?)(?:{_AMOUNT}Y)?(?:{_AMOUNT}M)?(?:{_AMOUNT}W)?"
    rf"(?:{_AMOUNT}D)?(?P<t>T?)(?:{_AMOUNT}H)?(?:{_AMOUNT}M)?(?:{_AMOUNT}S)?",
    re.IGNORECASE,
)
_DAYS_A_YEAR = Fraction("365.2422")
_YEAR, _MONTH = 86_400 * _DAYS_A_YEAR, 86_400 * _DAYS_A_YEAR / 12


@dataclass(frozen=True)
class Period:
    """Years and months, which have no fixed length, days, and seconds."""

    years: int = 0
    months: int = 0
    days: Fraction = Fraction()
    seconds: Fraction = Fraction()
    negative: bool = False


def parse_period(text: str) -> Period:
    """Parse a period; ValueError if it is not one.

    ``M`` is months before ``T`` and before hours and minutes, and minutes after them; without a
    ``P`` it is minutes.

    >>> parse_period("-p1m").months, parse_period("pt1m").seconds, parse_period("2h30m").seconds
    (1, Fraction(60, 1), Fraction(9000, 1))
    """
    given = text.upper()
    if given.lstrip("+-") == "P0":
        return Period()
    bare = not given.lstrip("+-").startswith("P")
    match = _PERIOD.fullmatch(_with_time(given) if bare else given)
    if match is None or given.endswith("T") or not any(match.groups()[2:6] + match.groups()[7:]):
        raise ValueError(text)
    years, months, weeks, days = (
        Fraction((each or "0").replace(",", ".")) for each in match.groups()[2:6]
    )
    hours, minutes, seconds = (
        Fraction((each or "0").replace(",", ".")) for each in match.groups()[7:]
    )
    # Fractions of years and months are days, as in gcloud.
    days += weeks * 7 + (years % 1) * _DAYS_A_YEAR + int((months % 1) * _DAYS_A_YEAR / 12)
    return Period(
        int(years),
        int(months),
        days,
        hours * 3_600 + minutes * 60 + seconds,
        match["sign"] == "-",
    )


def _with_time(text: str) -> str:
    """Add the letters P and T to a period without them, so that M means minutes."""
    sign, rest = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    days = re.match(r"(?:[0-9.,]+[YWD])*", rest)
    assert days is not None
    time = rest[days.end() :].removeprefix("T")
    return f"{sign}P{days[0]}{'T' if time else ''}{time}"


def format_period(
    period: Period, parts: int = 3, precision: int = 3, *, calendar: bool = True
) -> str:
    """Write a period with at most ``parts`` parts, and ``precision`` digits of a second.

    ``calendar``: whether hours carry into days, and days into years.

    >>> format_period(parse_period("90061.5s"))
    'P1DT1H1M'
    >>> format_period(parse_period("PT36H"), calendar=False)
    'PT36H'
    """
    years, months, rest = period.years, period.months, period.seconds
    days = int(period.days)
    rest += (period.days - days) * 86_400
    if calendar or days or months or years:
        carry, rest = divmod(rest, 86_400)
        days += int(carry)
        if days >= int(_DAYS_A_YEAR + 1):
            days, years = days - int(_DAYS_A_YEAR + 1), years + 1
        more = int(days / _DAYS_A_YEAR)
        days, years = days - int(more * _DAYS_A_YEAR), years + more
        years, months = years + months // 12, months % 12
    hours, rest = divmod(rest, 3_600)
    minutes, seconds = divmod(rest, 60)
    total = years * _YEAR + months * _MONTH + days * 86_400 + hours * 3_600 + minutes * 60 + seconds
    sized = [
        ("Y", years, _YEAR),
        ("M", months, _MONTH),
        ("D", days, Fraction(86_400)),
        ("H", hours, Fraction(3_600)),
        ("M", minutes, Fraction(60)),
    ]
    text, left, count, begun = "", total, 0, False
    parts = parts if parts > 0 else 7
    for at, (unit, amount, size) in enumerate(sized):
        if at == 3:
            text += "T"
        if count < parts and amount:
            begun = True
            left -= amount * size
            shown = amount + (left / size if count >= parts - 1 else 0)
            rounded = f"{float(shown):.0f}"
            text += f"{rounded}{unit}" if rounded != "0" else ""
        count += begun
    if count < parts and seconds:
        written = f"{float(seconds):.{precision}f}"
        written = written.rstrip("0").rstrip(".") if precision else written
        text += f"{written}S" if written not in ("", "0") else ""
    text = text.removesuffix("T")
    return ("-" if period.negative and total else "") + "P" + (text or "0")
