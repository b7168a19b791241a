"""Finds out whether unknown ids match known ones in another spelling; if so, the likely cause, the fix, and
examples.

Both sides are normalised: quotes, invisible characters, letter case and so on are removed. Then prefixes and
suffixes that many unknown ids, or nearly all known ids, share are removed or added. The step that makes ids
match is the cause.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product, takewhile
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.kinds import Ints, Mask
from recdash.formatting.sanitize import INVISIBLE, NEEDED

Step = Callable[[pa.Array], pa.Array]
End = Literal["prefix", "suffix"]
QUOTES = "\"'`´“”„‘’«»"
UNSEEN = rf"[{INVISIBLE}{NEEDED}\x{{202a}}-\x{{202e}}\x{{2066}}-\x{{2069}}\x{{0000}}-\x{{001f}}]"
AFFIXES = 4
"""Number of prefixes (and of suffixes) that are tried on each side, the most frequent ones."""
FEW_USE_IT = 0.01
"""Largest share of known ids that may have a prefix of the unknown ids; with more, the prefix distinguishes
known ids.
"""
NEARLY_ALL = 0.99
"""Smallest share of known ids with a prefix for which the prefix counts as common to all of them."""
AFFIX_SAMPLE = 2_000
LEAST_MEETING, LEAST_EXCHANGED = 3, 20
"""Numbers of ids that must match so that this is no coincidence: in general, and if one prefix was exchanged
for another (``x1`` for ``i1``), where numbers easily match by chance.
"""
EXACT_FLOAT32 = 1 << 24
LEAST_ROUNDED = 8
"""Fewest numbers that must all fit into float32 for rounding to be the likely cause; fewer may fit by
chance.
"""


@dataclass(frozen=True)
class Repair:
    """Another spelling in which unknown ids match known ones.

    ``cause`` ends a sentence that begins with "they differ by". ``fix`` says how to change {column}, the
    column of the unknown ids, or {other}, that of the known ids. ``known_at`` [n] is the index of the known
    id that each unknown id matches, −1 if none. With at least ``least`` matching ids, the match is no
    coincidence.
    """

    cause: str
    fix: str
    known_at: Ints
    least: int = LEAST_MEETING

    @property
    def meets(self) -> Mask:
        """Returns a mask [n] of the unknown ids that match in the other spelling."""
        return self.known_at >= 0

    @property
    def is_exchange(self) -> bool:
        """Returns whether one prefix (or suffix) was exchanged for another; such a difference may also
        distinguish two kinds of items.
        """
        return self.least == LEAST_EXCHANGED


def likely_repair(unknown: Sequence[str], known: pa.Array) -> Repair | None:
    """Returns the spelling in which most unknown ids match a known id; None if none matches in any spelling.

    ``known`` are int64 or texts, each id once.
    """
    if not len(unknown) or not len(known):
        return None
    written = pa.array(unknown, pa.string())
    if pa.types.is_integer(known.type) and all(map(_is_plain_number, unknown)):
        return _rounded(written, known)
    texts = known.cast(pa.string())
    plain, plain_texts = _plain(written), _plain(texts)
    normalised = _in_plain_form(written, texts, _positions(plain, plain_texts))
    other_ends = [_with_other_end(end, written, plain, texts, plain_texts) for end in ("prefix", "suffix")]
    return _best([normalised, *other_ends, _rounded(written, texts)])


def _best(repairs: Sequence[Repair | None]) -> Repair | None:
    """Returns the repair with the most matching ids, the first of equals; None without a repair."""
    possible = [repair for repair in repairs if repair is not None]
    return max(possible, key=lambda repair: int(repair.meets.sum()), default=None)


def _is_plain_number(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdigit()


# ── normalisation ────────────────────────────────────────────────────────────────────────────


def _without_quotes(ids: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(ids, rf"^b?[{QUOTES}]+(.*?)[{QUOTES}]+$", r"\1")


def _without_formula(ids: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(ids, r'^="(.*)"$', r"\1")


def _without_invisible(ids: pa.Array) -> pa.Array:
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(ids, UNSEEN, ""))


def _composed(ids: pa.Array) -> pa.Array:
    return pc.utf8_normalize(ids, form="NFC")


def _without_variants(ids: pa.Array) -> pa.Array:
    """Returns the ids in the Unicode form NFKC: full-width letters, ligatures and similar become plain
    letters.
    """
    return pc.utf8_normalize(ids, form="NFKC")


def _in_small_letters(ids: pa.Array) -> pa.Array:
    return pc.utf8_lower(ids)


def _as_whole_numbers(ids: pa.Array) -> pa.Array:
    """Returns the ids with numbers such as ``12.0`` and ``1,234`` as ``12`` and ``1234``."""
    plain = pc.replace_substring_regex(ids, r"^([+-]?[\d,]*\d)\.0*$", r"\1")
    has_thousands = pc.match_substring_regex(plain, r"^\d{1,3}(,\d{3})+$")
    return pc.if_else(has_thousands, pc.replace_substring(plain, ",", ""), plain)


def _without_zeros(ids: pa.Array) -> pa.Array:
    """Returns the ids, with numbers stripped of leading zeros; the engine treats both spellings as one id."""
    return pc.replace_substring_regex(ids, r"^0+(\d+)$", r"\1")


Way = tuple[str, str, Step]
"""A difference between spellings: its cause, its fix, and the function that removes it."""


def _ways(unicode_form: Way) -> tuple[Way, ...]:
    """Returns the usual differences between spellings of the same id, with ``unicode_form`` as the one for
    letters.
    """
    return (
        ("characters that are not visible, such as a zero-width space or a byte-order mark",
         "Remove the invisible characters from {column}.", _without_invisible),
        ('Excel\'s ="…" around the ids', 'Write {column} without ="…"; keep it as text.', _without_formula),
        ("quotes around the ids", "Write {column} without quotes.", _without_quotes),
        unicode_form,
        ("upper and lower case", "Write {column} in the same letter case in both files.", _in_small_letters),
        ("decimals or thousands separators in numbers",
         "Write {column} as whole numbers without separators.", _as_whole_numbers),
    )  # fmt: skip


WITH_NFC = _ways(
    ("the Unicode form of their letters (composed against decomposed)",
     "Write {column} in the Unicode normal form NFC in both files.", _composed)
)  # fmt: skip
WITH_NFKC = _ways(
    ("variants of letters that Unicode distinguishes, such as full-width ones",
     "Write {column} in the Unicode normal form NFKC in both files; NFC is not enough.", _without_variants)
)  # fmt: skip


def _plain(ids: pa.Array, ways: Sequence[Way] = WITH_NFKC, without: int | None = None) -> pa.Array:
    """Returns the ids after all normalisation steps, except the one with the index ``without``."""
    for place, (_, _, step) in enumerate(ways):
        ids = ids if place == without else step(ids)
    return _without_zeros(ids)


def _effective(ids: pa.Array, ways: Sequence[Way]) -> set[int]:
    """Returns the indexes of the normalisation steps that change at least one id."""
    effective = set()
    for index, (_, _, step) in enumerate(ways):
        after = step(ids)
        if not after.equals(ids):
            effective.add(index)
        ids = after
    return effective


def _in_plain_form(written: pa.Array, known: pa.Array, with_nfkc: Ints) -> Repair | None:
    """Returns the best repair by normalisation alone. ``with_nfkc`` [n] is the index of the known id that
    each unknown id matches under NFKC, −1 if none.

    If the weaker Unicode form NFC gives as many matches, the repair names that one.
    """
    is_ascii = pc.all(pc.string_is_ascii(written)).as_py() and pc.all(pc.string_is_ascii(known)).as_py()
    with_nfc = with_nfkc if is_ascii else _known_at(written, known, WITH_NFC)  # neither form changes ASCII
    places = {WITH_NFC: with_nfc, WITH_NFKC: with_nfkc}
    ways, known_at = max(places.items(), key=lambda entry: int((entry[1] >= 0).sum()))
    meets = known_at >= 0
    if not meets.any():
        return None
    effective = _effective(written, ways) | _effective(known, ways)
    needed = [
        (cause, fix if _changes(step, written, meets) else fix.replace("{column}", "{other}"))
        for index, (cause, fix, step) in enumerate(ways)
        if index in effective and ((_known_at(written, known, ways, index) < 0) & meets).any()
    ]
    causes, fixes = zip(*needed, strict=True) if needed else (("leading zeros",), ("Write {column} alike.",))
    return Repair(" and ".join(causes), " ".join(fixes), known_at)


def _known_at(written: pa.Array, known: pa.Array, ways: Sequence[Way], without: int | None = None) -> Ints:
    return _positions(_plain(written, ways, without), _plain(known, ways, without))


def _positions(written: pa.Array, known: pa.Array) -> Ints:
    """Returns [n] the index of each id among the known ids, −1 if it is not among them."""
    return _places(pc.index_in(written, value_set=known))


def _places(indexes: pa.Array) -> Ints:
    """Returns the indexes [n] as an array, with −1 for null."""
    return np.asarray(pc.fill_null(indexes, -1)).astype(np.int64)


def _changes(step: Step, ids: pa.Array, rows: Mask) -> bool:
    """Returns whether the step changes any of the marked ids. If not, it is the other side that has to be
    changed.
    """
    some = ids.filter(pa.array(rows))
    return not step(some).equals(some)


def distinguishable(written: str, known: str) -> tuple[str, str]:
    """Returns both ids, with code points in place of special letters if the two would look the same."""
    same = unicodedata.normalize("NFC", written).strip() == unicodedata.normalize("NFC", known).strip()
    hidden = not (written.isprintable() and known.isprintable())
    if not (same or hidden):
        return written, known
    return tuple(text.encode("ascii", "backslashreplace").decode() for text in (written, known))  # type: ignore[return-value]


# ── prefixes and suffixes ────────────────────────────────────────────────────────────────────


def _with_other_end(
    end: Any, written: pa.Array, plain: pa.Array, known: pa.Array, plain_known: pa.Array
) -> Repair | None:
    """Returns the best repair that exchanges one prefix (or suffix) for another, either of which may be
    empty; None if it gives no match.
    """
    theirs = [text for text in _ends(end, plain_known) if _share(end, text, plain_known) >= NEARLY_ALL]
    ours = [text for text in _ends(end, plain) if _share(end, text, plain_known) <= FEW_USE_IT]
    best: tuple[int, str, str, Any] = (0, "", "", None)
    for old, new in product(("", *ours), ("", *theirs)):
        if old or new:
            place = pc.index_in(_exchanged(end, plain, old, new), value_set=plain_known)
            count = len(place) - place.null_count
            if (count, -len(old) - len(new)) > (best[0], -len(best[1]) - len(best[2])):
                best = count, old, new, place
    count, old, new, place = best
    if not count:
        return None
    cause, fix = _cause_and_fix(end, _as_written(end, old, written), _as_written(end, new, known))
    least = LEAST_EXCHANGED if old and new else LEAST_MEETING
    return Repair(cause, fix, _places(place), least)


def _ends(end: End, ids: pa.Array) -> list[str]:
    """Returns the most frequent prefixes (or suffixes) of the ids, the longest first among equally frequent
    ones. None of them consists of digits only.
    """
    some = _sample(ids).to_pylist()
    counted = Counter(part for text in some for part in _possible_ends(end, text))
    turned = [text if end == "prefix" else text[::-1] for text in some]
    shared = _shared_beginning(turned) if len(turned) > 1 else ""
    if shared:
        counted[shared if end == "prefix" else shared[::-1]] += len(some)
    often = sorted(counted.items(), key=lambda entry: (-entry[1], -len(entry[0])))
    return [text for text, count in often if count > 1 or len(some) == 1][:AFFIXES]


def _shared_beginning(texts: Sequence[str]) -> str:
    """Returns the common beginning of all texts, without digits at its end."""
    letters = zip(min(texts), max(texts), strict=False)
    shared = "".join(letter for letter, _ in takewhile(lambda pair: pair[0] == pair[1], letters))
    while shared and shared[-1].isdecimal():
        shared = shared[:-1]
    return shared


_BORDER = re.compile(r"(?<=\d)(?=\D)|(?<=\D)(?=\d)|(?<=\w)(?=\W)|(?<=\W)(?=\w)|(?<=_)(?=[^_])|(?<=[^_])(?=_)")


def _possible_ends(end: End, text: str) -> Iterator[str]:
    """Yields beginnings (or endings) of the text that stop where letters, digits or signs change into another
    kind, except those of digits only.
    """
    for border in _BORDER.finditer(text[:64] if end == "prefix" else text[-64:]):
        index = border.start() + (0 if end == "prefix" else max(len(text) - 64, 0))
        part = text[:index] if end == "prefix" else text[index:]
        if not part.isdigit():
            yield part


def _sample(ids: pa.Array) -> pa.Array:
    if len(ids) <= AFFIX_SAMPLE:
        return ids
    return ids.take(pa.array(np.linspace(0, len(ids) - 1, AFFIX_SAMPLE).astype(np.int64)))


def _share(end: End, text: str, ids: pa.Array) -> float:
    has = pc.starts_with(ids, text) if end == "prefix" else pc.ends_with(ids, text)
    return float(np.asarray(has).mean())


def _exchanged(end: End, ids: pa.Array, old: str, new: str) -> pa.Array:
    """Returns the ids with ``new`` in place of the prefix (or suffix) ``old``; null for ids without
    ``old``.
    """
    if end == "prefix":
        has, rest = pc.starts_with(ids, old), pc.utf8_slice_codeunits(ids, len(old))
        exchanged = pc.binary_join_element_wise(new, rest if new else _without_zeros(rest), "")
    else:
        has, rest = pc.ends_with(ids, old), pc.utf8_slice_codeunits(ids, 0, -len(old) if old else None)
        exchanged = pc.binary_join_element_wise(rest if new else _without_zeros(rest), new, "")
    return pc.if_else(has, exchanged, None)


def _as_written(end: End, plain: str, ids: pa.Array) -> str:
    """Returns a normalised prefix (or suffix) as most ids spell it."""
    texts = [text for text in _sample(ids).to_pylist() if len(text) > len(plain)]
    cut = [text[: len(plain)] if end == "prefix" else text[len(text) - len(plain) :] for text in texts]
    alike = Counter(text for text in cut if text.lower() == plain)
    return alike.most_common(1)[0][0] if alike else plain


def _cause_and_fix(end: End, old: str, new: str) -> tuple[str, str]:
    if old and new:
        return f"the {end} '{old}' instead of '{new}'", f"Replace the {end} '{old}' by '{new}' in {{column}}."
    if old:
        return f"the {end} '{old}'", f"Remove the {end} '{old}' from {{column}}."
    return f"a missing {end} '{new}'", f"Add the {end} '{new}' to {{column}}."


# ── numbers that lost digits ─────────────────────────────────────────────────────────────────


def _rounded(written: pa.Array, known: pa.Array) -> Repair | None:
    """Returns the repair for large whole numbers that were rounded to float32; None if they were not. The
    rounding cannot be undone.
    """
    ours, theirs = _numbers(written), _numbers(known)
    large = np.abs(ours) >= EXACT_FLOAT32
    fits = ours.astype(np.float32).astype(np.float64) == ours
    if large.sum() < LEAST_ROUNDED or not fits[large].all():
        return None
    rounded = theirs.astype(np.float32).astype(np.float64)
    order = np.argsort(rounded, kind="stable")
    place = np.searchsorted(rounded[order], ours)
    meets = large & (place < len(order))
    meets[meets] = rounded[order][place[meets]] == ours[meets]
    if not meets.any():
        return None
    known_at = np.full(len(meets), -1, dtype=np.int64)
    known_at[meets] = order[place[meets]]
    cause = "rounding to float32, which is exact only for whole numbers up to 16,777,216"
    fix = "Export {column} as text or as whole numbers; the lost digits cannot be restored."
    return Repair(cause, fix, known_at)


def _numbers(ids: pa.Array) -> Any:
    """Returns the ids as float64 [n]; 0 for all but whole numbers of up to 15 digits."""
    if pa.types.is_integer(ids.type):
        return ids.to_numpy(zero_copy_only=False).astype(np.float64)
    is_number = pc.match_substring_regex(ids, r"^-?\d{1,15}$")
    return pc.if_else(is_number, ids, "0").cast(pa.float64()).to_numpy(zero_copy_only=False)
