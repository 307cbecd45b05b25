"""Figures in the sentences of pages: each is quoted from the bench page, or is a setting.

A quote is a text of a page in which ``{NAME|FORMAT}`` stands for the value with that name, such as
``a turn takes {core_bench: turn_of_threads/4 turn_us|.0f} us``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from figures import Book, Quote

_PLACE = re.compile(r"\{([^{}|]+)\|([^{}|]*)\}")
_NUMBER = r"[0-9][0-9.,]*[0-9]|[0-9]"
#: A time, a rate or a comparison of speeds in a sentence.
_CLAIM = re.compile(
    r"\b[0-9][0-9.,]*\s(?:ns|us|ms|s|seconds?|minutes?|hours?|(?:GB|MB|TB)/s)(?![\w/])"
    r"|\b(?:[0-9][0-9.,]*|\w+)\stimes\sas\s(?:fast|long|slow)\b"
    r"|\bless\sthan\sa\s(?:second|minute)\b|\b(?:tenths|hundredths|thousandths)\sof\sa\ssecond\b"
)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def shown(value: float, form: str) -> str:
    """A value as a sentence has it."""
    return format(value, form or ".3g")


def _pattern(quote: Quote) -> re.Pattern[str]:
    """Matches the quote with any numbers; blanks of the text match line breaks."""
    parts, at = [], 0
    for found in _PLACE.finditer(quote.text):
        parts += [_literal(quote.text[at : found.start()]), f"({_NUMBER})"]
        at = found.end()
    return re.compile("".join([*parts, _literal(quote.text[at:])]))


def _literal(text: str) -> str:
    return re.sub(r"(?:\\?\s)+", r"\\s+", re.escape(text))


def faults(
    quote: Quote, page: str, values: Mapping[str, float | None]
) -> list[str]:  # fmt: skip
    """Says if the text of a quote isn't there once, and which numbers aren't the measured ones."""
    matches = list(_pattern(quote).finditer(page))
    if len(matches) != 1:
        return [f"{quote.page}: expected '{quote.text}' once, got it {len(matches)} times"]
    found = []
    for (name, form), got in zip(_PLACE.findall(quote.text), matches[0].groups()):
        value = values.get(name)
        if value is None:
            found.append(f"{quote.page}: '{quote.text}': no value is kept for '{name}'")
        elif shown(value, form) != got:
            found.append(f"{quote.page}: {name}: expected {shown(value, form)}, got {got}")
    return found


def renewed(quote: Quote, page: str, values: Mapping[str, float | None]) -> str:
    """The page with the measured numbers in a quote; values that weren't measured stay."""
    match = _pattern(quote).search(page)
    if match is None:
        return page
    for place, (name, form) in reversed(list(enumerate(_PLACE.findall(quote.text), 1))):
        value = values.get(name)
        if value is not None:
            page = page[: match.start(place)] + shown(value, form) + page[match.end(place) :]
    return page


def claims(name: str, page: str, book: Book) -> list[str]:
    """The times and comparisons of speed on a page that are neither quotes nor settings."""
    said = [each for each in (*book.quotes, *book.settings) if each.page == name]
    covered = [match.span() for each in said for match in _pattern(each).finditer(page)]
    covered += [match.span() for match in _FENCE.finditer(page)]
    return [
        f"{name}:{page.count(chr(10), 0, match.start()) + 1}: {match.group()}"
        for match in _CLAIM.finditer(page)
        if not any(begin <= match.start() and match.end() <= end for begin, end in covered)
    ]


def unused_settings(book: Book, pages: Mapping[str, str]) -> list[str]:
    """The settings that no page has, or that name no time."""
    return [
        f"{each.page}: '{each.text}'"
        for each in book.settings
        if not _pattern(each).search(pages.get(each.page, "")) or not _CLAIM.search(each.text)
    ]
