"""Files as people make them, from one small run: each with what must become of it and whether its lists are
those of the clean run.
"""

from __future__ import annotations

import gzip
import io
import json
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recdash.domain.kinds import TableKind

N_USERS, LENGTH = 30, 10
Row = tuple[str, str, int, float]


@dataclass(frozen=True)
class MadeFile:
    """A file, its kind, the actions that are right (separated by |), whether its lists are the clean ones,
    and words that must be said.
    """

    name: str
    kind: TableKind
    data: bytes
    due: str
    same: bool = True
    say: tuple[str, ...] = ()


def clean_rows(seed: int = 7) -> list[Row]:
    """Returns (user, item, rank, score) of the clean run: ids of digits, scores that fall within a list."""
    chance = np.random.default_rng(seed)
    rows = []
    for user in range(101, 101 + N_USERS):
        items = chance.choice(np.arange(2001, 2080), LENGTH, replace=False)
        scores = np.sort(chance.uniform(0.01, 0.99, LENGTH))[::-1]
        rows += [
            (str(user), str(item), rank, round(float(score), 6))
            for rank, (item, score) in enumerate(zip(items, scores, strict=True), 1)
        ]
    return rows


def text(rows: Sequence[Sequence[Any]], header: str | None, mark: str = ",", end: str = "\n") -> str:
    lines = [] if header is None else [header]
    return end.join([*lines, *(mark.join(map(str, row)) for row in rows)]) + end


def by_user(rows: Sequence[Row]) -> dict[str, list[Row]]:
    lists: dict[str, list[Row]] = {}
    for row in rows:
        lists.setdefault(row[0], []).append(row)
    return lists


def made_files() -> Iterator[MadeFile]:
    for make in (
        encodings,
        delimiters,
        layouts,
        containers,
        hidden,
        libraries,
        orders,
        ids,
        rows_of_lists,
        tables,
    ):
        yield from make(clean_rows())


HEADER = "user_id,item_id,rank,score"


def encodings(rows: list[Row]) -> Iterator[MadeFile]:
    plain = text(rows, HEADER)
    yield MadeFile(
        "utf16be.csv", "run", ("\ufeff" + plain).encode("utf-16-be"), "accept with warning", say=("UTF-16",)
    )
    yield MadeFile(
        "utf16_no_bom.csv", "run", plain.encode("utf-16-le"), "accept with warning|reject", say=("UTF-16",)
    )
    yield MadeFile("utf32.csv", "run", plain.encode("utf-32"), "accept with warning|reject", say=("UTF-32",))
    titles = [(2001, "Amélie – “Œuvre”"), (2002, "Naïve €"), (2003, "Plain")]
    yield MadeFile(
        "cp1252.csv",
        "catalogue",
        text(titles, "item_id,title").encode("cp1252"),
        "accept with warning",
        False,
        say=("cp1252",),
    )
    yield MadeFile("crlf.csv", "run", text(rows, HEADER, end="\r\n").encode(), "accept")
    yield MadeFile("no_last_newline.csv", "run", plain.rstrip("\n").encode(), "accept")
    yield MadeFile("blank_lines.csv", "run", plain.replace("\n", "\n\n").encode(), "accept")
    yield MadeFile(
        "all_quoted.csv",
        "run",
        text([[f'"{v}"' for v in row] for row in rows], '"user_id","item_id","rank","score"').encode(),
        "accept",
    )
    yield MadeFile(
        "header_padded.csv",
        "run",
        text(rows, " user_id , item_id , rank , score ").encode(),
        "accept|accept with mapping",
    )
    yield MadeFile(
        "header_upper.csv",
        "run",
        text(rows, "USER_ID,ITEM_ID,RANK,SCORE").encode(),
        "accept|accept with mapping",
    )


def delimiters(rows: list[Row]) -> Iterator[MadeFile]:
    names = HEADER.split(",")
    for word, mark in (("semicolon", ";"), ("pipe", "|"), ("colons", "::"), ("blanks", " ")):
        yield MadeFile(
            f"{word}.csv", "run", text(rows, mark.join(names), mark).encode(), "accept|accept with mapping"
        )
    yield MadeFile(
        "many_blanks.txt", "run", text(rows, "   ".join(names), "   ").encode(), "accept|accept with mapping"
    )
    yield MadeFile(
        "sep_line.csv",
        "run",
        ("sep=;\n" + text(rows, ";".join(names), ";")).encode(),
        "accept|accept with mapping",
    )
    comma = [(u, i, r, str(s).replace(".", ",")) for u, i, r, s in rows]
    yield MadeFile(
        "decimal_comma_tab.tsv",
        "run",
        text(comma, "\t".join(names), "\t").encode(),
        "accept with mapping",
        say=("decimal comma",),
    )
    yield MadeFile(
        "quoted_decimal_comma.csv",
        "run",
        text([(u, i, r, f'"{s}"') for u, i, r, s in comma], HEADER).encode(),
        "accept with mapping",
        say=("comma",),
    )
    yield MadeFile(
        "comments.csv",
        "run",
        ("# als, 2026-11-03\n# factors=64\n" + text(rows, HEADER)).encode(),
        "accept with mapping|accept with warning",
        say=("comment",),
    )
    yield MadeFile(
        "comment_header.csv", "run", ("#" + text(rows, HEADER)).encode(), "accept|accept with mapping"
    )
    yield MadeFile(
        "title_line.csv",
        "run",
        ("Recommendations of ALS\n" + text(rows, HEADER)).encode(),
        "accept with mapping|accept with warning|reject",
    )
    yield MadeFile(
        "repeated_header.csv",
        "run",
        (text(rows[:100], HEADER) + text(rows[100:], HEADER)).encode(),
        "accept with warning|reject",
        say=("header",),
    )
    yield MadeFile(
        "total_line.csv",
        "run",
        (text(rows, HEADER) + "Total,300,,\n").encode(),
        "reject|accept with warning",
        same=False,
    )
    yield MadeFile(
        "index_column.csv",
        "run",
        text([(n, *row) for n, row in enumerate(rows)], "," + HEADER).encode(),
        "accept|accept with mapping",
    )
    yield MadeFile(
        "index_unnamed.csv",
        "run",
        text([(n, *row) for n, row in enumerate(rows)], "Unnamed: 0," + HEADER).encode(),
        "accept|accept with mapping",
    )
    yield MadeFile(
        "r_row_names.csv",
        "run",
        text([(f'"{n}"', *row) for n, row in enumerate(rows, 1)], HEADER).encode(),
        "accept|accept with mapping|reject",
    )
    yield MadeFile(
        "trailing_comma.csv",
        "run",
        text([(*row, "") for row in rows], HEADER + ",").encode(),
        "accept|accept with mapping",
    )
    yield MadeFile(
        "trailing_comma_rows.csv",
        "run",
        text([(*row, "") for row in rows], HEADER).encode(),
        "reject|accept with warning",
        say=("fields",),
    )
    yield MadeFile("blank_lines_first.csv", "run", ("\n\n" + text(rows, HEADER)).encode(), "accept")
    yield MadeFile(
        "ragged.csv",
        "run",
        (text(rows[:50], HEADER) + "101,2001\n" + text(rows[50:], None)).encode(),
        "reject",
        say=("line 52",),
    )


def layouts(rows: list[Row]) -> Iterator[MadeFile]:
    lists = by_user(rows)
    items = {user: [row[1] for row in own] for user, own in lists.items()}
    wide = [(user, *own) for user, own in items.items()]
    yield MadeFile(
        "wide_from_zero.csv",
        "run",
        text(wide, "user_id," + ",".join(map(str, range(LENGTH)))).encode(),
        "accept with mapping",
        say=("wide",),
    )
    yield MadeFile("wide_no_header.csv", "run", text(wide, None).encode(), "accept with mapping|reject")
    models = "user_id,als,ease"
    two = [(user, f'"[{", ".join(own)}]"', f'"[{", ".join(own[::-1])}]"') for user, own in items.items()]
    yield MadeFile(
        "column_per_model.csv", "run", text(two, models).encode(), "accept with mapping", same=False
    )
    scored = [(u, i, s, round(1 - s, 6)) for u, i, _, s in rows]
    yield MadeFile(
        "score_per_model.csv",
        "run",
        text(scored, "user_id,item_id,als_score,ease_score").encode(),
        "accept with mapping|reject",
        same=False,
    )
    yield MadeFile(
        "list_brackets.csv",
        "run",
        text([(u, f'"[{", ".join(own)}]"') for u, own in items.items()], "user_id,item_id").encode(),
        "accept with mapping",
        say=("list column",),
    )
    yield MadeFile(
        "list_python.csv",
        "run",
        text([(u, f'"{own}"') for u, own in items.items()], "user_id,recs").encode(),
        "accept with mapping",
        say=("list column",),
    )
    yield MadeFile(
        "list_pipes.csv",
        "run",
        text([(u, "|".join(own)) for u, own in items.items()], "user_id,items").encode(),
        "accept with mapping",
        say=("list column",),
    )
    pairs = [(u, '"[' + ", ".join(f"({row[1]}, {row[3]})" for row in own) + ']"') for u, own in lists.items()]
    yield MadeFile(
        "list_pairs.csv", "run", text(pairs, "user_id,recommendations").encode(), "accept with mapping"
    )
    records = [
        json.dumps({"user_id": u, "items": [{"item_id": r[1], "score": r[3]} for r in own]})
        for u, own in lists.items()
    ]
    yield MadeFile("nested.jsonl", "run", ("\n".join(records) + "\n").encode(), "accept with mapping")
    yield MadeFile(
        "records.json",
        "run",
        json.dumps(
            [dict(zip(("user_id", "item_id", "rank", "score"), row, strict=True)) for row in rows]
        ).encode(),
        "accept|accept with mapping",
    )
    yield MadeFile("dict_of_lists.json", "run", json.dumps(items).encode(), "accept with mapping")
    yield MadeFile(
        "dict_of_pairs.json",
        "run",
        json.dumps({u: [[r[1], r[3]] for r in own] for u, own in lists.items()}).encode(),
        "accept with mapping",
    )
    yield MadeFile(
        "split.json",
        "run",
        json.dumps(
            {"columns": ["user_id", "item_id", "score"], "data": [[u, i, s] for u, i, _, s in rows]}
        ).encode(),
        "accept with warning",
    )


def containers(rows: list[Row]) -> Iterator[MadeFile]:
    plain = text(rows, HEADER).encode()
    yield MadeFile("als.csv.gz", "run", gzip.compress(plain), "accept")
    yield MadeFile("als_named.gz", "run", plain, "accept|accept with warning")
    yield MadeFile("csv_named.parquet", "run", plain, "accept|accept with warning")
    sink = io.BytesIO()
    pq.write_table(
        pa.table(
            {
                "user_id": [int(r[0]) for r in rows],
                "item_id": [int(r[1]) for r in rows],
                "score": [r[3] for r in rows],
            }
        ),
        sink,
    )
    yield MadeFile("parquet_named.csv", "run", sink.getvalue(), "accept|accept with warning")
    yield MadeFile(
        "double.csv.gz", "run", gzip.compress(gzip.compress(plain)), "accept|accept with warning|reject"
    )
    one, two = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(one, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("out/als.csv", plain)
    yield MadeFile("one.zip", "run", one.getvalue(), "accept")
    with zipfile.ZipFile(two, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("als.csv", plain)
        archive.writestr("ease.csv", plain)
    yield MadeFile(
        "two.zip",
        "run",
        two.getvalue(),
        "accept",
        same=False,
        say=("als.csv", "ease.csv"),
    )


def hidden(rows: list[Row]) -> Iterator[MadeFile]:
    """Yields files whose faults cannot be seen in a spreadsheet."""
    junk = io.BytesIO()
    with zipfile.ZipFile(junk, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(".DS_Store", b"x")
        archive.writestr("als.csv", text(rows, HEADER))
    yield MadeFile("ds_store.zip", "run", junk.getvalue(), "accept")
    invisible = [(u, i if r > 1 else f"{i}\u200b", r, s) for u, i, r, s in rows]
    yield MadeFile(
        "zero_width.csv",
        "run",
        text(invisible, HEADER).encode(),
        "accept with warning",
        False,
        ("invisible", "30 rows"),
    )
    of_hive = [(u, i if r < 10 else "\\N", r) for u, i, r, _ in rows]
    yield MadeFile(
        "hive_null.csv",
        "run",
        text(of_hive, "user_id,item_id,rank").encode(),
        "accept with warning",
        False,
        ("no item id in 30 rows",),
    )
    two = "user_id,item_id;score\n" + "".join(f"{u},{i};{s}\n" for u, i, _, s in rows)
    yield MadeFile("two_delimiters.csv", "run", two.encode(), "reject", False, ("two delimiters",))


def libraries(rows: list[Row]) -> Iterator[MadeFile]:
    three = [(u, i, s) for u, i, _, s in rows]
    yield MadeFile(
        "recbole.inter",
        "run",
        text(three, "user_id:token\titem_id:token\tscore:float", "\t").encode(),
        "accept|accept with mapping",
    )
    yield MadeFile(
        "elliot.tsv", "run", text(three, None, "\t").encode(), "accept with mapping", say=("no header",)
    )
    yield MadeFile(
        "lenskit.csv",
        "run",
        text([(i, s, u, r) for u, i, r, s in rows], "item,score,user,rank").encode(),
        "accept with mapping",
    )
    yield MadeFile(
        "rectools.csv",
        "run",
        text([(u, i, s, r) for u, i, r, s in rows], "user_id,item_id,score,rank").encode(),
        "accept",
    )
    yield MadeFile(
        "surprise_top.csv",
        "run",
        text([(u, i, s) for u, i, _, s in rows], "uid,iid,est").encode(),
        "accept with mapping",
    )
    nested: dict[str, dict[str, float]] = {}
    for u, i, _, s in rows:
        nested.setdefault(u, {})[i] = s
    yield MadeFile("ranx.json", "run", json.dumps(nested).encode(), "accept with mapping")
    yield MadeFile(
        "implicit.csv",
        "run",
        text(
            [
                (u, f'"[{" ".join(r[1] for r in own)}]"', f'"[{" ".join(str(r[3]) for r in own)}]"')
                for u, own in by_user(rows).items()
            ],
            "userid,ids,scores",
        ).encode(),
        "accept with mapping",
    )
    spark = [
        (u, "[" + ", ".join(f"{{{r[1]}, {r[3]}}}" for r in own) + "]") for u, own in by_user(rows).items()
    ]
    yield MadeFile(
        "spark_struct.csv",
        "run",
        text([(u, f'"{c}"') for u, c in spark], "userId,recommendations").encode(),
        "accept with mapping|reject",
    )


def orders(rows: list[Row]) -> Iterator[MadeFile]:
    def run(
        name: str, header: str, pick: Callable[[Row], Sequence[Any]], due: str, *say: str, same: bool = True
    ) -> MadeFile:
        return MadeFile(name, "run", text([pick(row) for row in rows], header).encode(), due, same, say)

    yield run(
        "rank_from_zero.csv",
        "user_id,item_id,rank",
        lambda r: (r[0], r[1], r[2] - 1),
        "accept with mapping|accept with warning",
        "0",
    )
    yield run("rank_floats.csv", "user_id,item_id,rank", lambda r: (r[0], r[1], f"{r[2]}.0"), "accept")
    yield run(
        "rank_down.csv",
        "user_id,item_id,rank",
        lambda r: (r[0], r[1], LENGTH + 1 - r[2]),
        "reject",
        "descend",
        same=False,
    )
    yield run(
        "rank_against_score.csv",
        HEADER,
        lambda r: (r[0], r[1], LENGTH + 1 - r[2], r[3]),
        "reject|accept with warning",
        "contradicts",
        same=False,
    )
    yield run(
        "distance.csv",
        "user_id,item_id,distance",
        lambda r: (r[0], r[1], round(1 - r[3], 6)),
        "accept with mapping|accept with warning|reject",
        "distance",
    )
    yield run(
        "negative_scores.csv", "user_id,item_id,score", lambda r: (r[0], r[1], round(r[3] - 5, 6)), "accept"
    )
    yield run(
        "percent_scores.csv",
        "user_id,item_id,score",
        lambda r: (r[0], r[1], f"{100 * r[3]:.4f}%"),
        "accept with warning",
        "percent",
    )
    yield run(
        "scientific_scores.csv", "user_id,item_id,score", lambda r: (r[0], r[1], f"{r[3]:.10e}"), "accept"
    )
    yield run("score_first.csv", "score,user_id,item_id", lambda r: (r[3], r[0], r[1]), "accept")
    yield run(
        "rank_text.csv",
        "user_id,item_id,rank",
        lambda r: (r[0], r[1], f"#{r[2]}"),
        "accept with warning",
        "rank",
    )
    shuffled = [rows[n] for n in np.random.default_rng(1).permutation(len(rows))]
    yield MadeFile("shuffled.csv", "run", text(shuffled, HEADER).encode(), "accept")
    tied = [(u, i, round(s, 1)) for u, i, _, s in rows]
    yield MadeFile(
        "tied.csv", "run", text(tied, "user_id,item_id,score").encode(), "accept with warning", say=("ties",)
    )
    nan = [(u, i, "" if r == LENGTH else s) for u, i, r, s in rows]
    yield MadeFile(
        "empty_score.csv",
        "run",
        text(nan, "user_id,item_id,score").encode(),
        "accept with warning",
        say=("30",),
    )
    gap = [(u, i, r * 2 - 1) for u, i, r, _ in rows]
    yield MadeFile(
        "rank_gaps.csv",
        "run",
        text(gap, "user_id,item_id,rank").encode(),
        "accept with warning",
        say=("gaps",),
    )
    twice = [(u, i, r if r != 3 else 2) for u, i, r, _ in rows]
    yield MadeFile(
        "rank_twice.csv",
        "run",
        text(twice, "user_id,item_id,rank").encode(),
        "accept with warning",
        say=("duplicate ranks",),
    )


def ids(rows: list[Row]) -> Iterator[MadeFile]:
    def run(
        name: str,
        user: Callable[[str], str],
        item: Callable[[str], str],
        due: str,
        *say: str,
        same: bool = True,
    ) -> MadeFile:
        changed = [(user(u), item(i), r, s) for u, i, r, s in rows]
        return MadeFile(name, "run", text(changed, HEADER).encode(), due, same, say)

    def keep(label: str) -> str:
        return label

    yield run("id_float.csv", lambda u: f"{u}.0", lambda i: f"{i}.0", "accept with warning", "12.0")
    yield run("id_scientific.csv", keep, lambda i: f"{int(i):.3e}", "accept with warning", "scientific")
    yield run("id_scientific_short.csv", keep, lambda _: "2e3", "reject|accept with warning", same=False)
    yield run("id_padded_zeros.csv", lambda u: u.zfill(8), keep, "accept with warning|reject", "zeros")
    yield run("id_quoted_apostrophe.csv", lambda u: f"'{u}", keep, "accept with warning|reject", "'")
    yield run("id_prefixed.csv", keep, lambda i: f"item_{i}", "reject", "known", same=False)
    yield run("id_upper.csv", keep, lambda i: f" {i}\u00a0", "accept with warning", "blanks")
    yield run("id_thousands.csv", keep, lambda i: f'"{int(i):,}"', "reject|accept with warning", ",")
    yield run(
        "id_minus_one.csv",
        keep,
        lambda i: "-1" if int(i) % 5 == 0 else i,
        "accept with warning",
        same=False,
    )
    yield run("id_swapped.csv", keep, keep, "accept")
    swapped = [(i, u, r, s) for u, i, r, s in rows]
    yield MadeFile("ids_swapped.csv", "run", text(swapped, HEADER).encode(), "reject", False)
    big = 2**63 + 1
    yield MadeFile(
        "id_huge.csv",
        "run",
        text([(u, int(i) + big, r, s) for u, i, r, s in rows], HEADER).encode(),
        "reject",
        False,
    )
    half = [(u if r % 2 else f"{7 * int(u)}-guest", i, r, s) for u, i, r, s in rows]
    yield MadeFile(
        "users_half_unknown.csv",
        "run",
        text(half, HEADER).encode(),
        "accept with warning",
        False,
        ("30 users",),
    )


def rows_of_lists(rows: list[Row]) -> Iterator[MadeFile]:
    yield MadeFile(
        "duplicate_rows.csv",
        "run",
        text([row for row in rows for _ in (0, 1)], HEADER).encode(),
        "accept with warning",
        say=("duplicate",),
    )
    yield MadeFile(
        "short.csv",
        "run",
        text([row for row in rows if row[2] <= 3 or int(row[0]) % 2], HEADER).encode(),
        "accept with warning",
        False,
        ("shorter",),
    )
    filler = [(u, i if r < 8 else "0", r, s) for u, i, r, s in rows]
    yield MadeFile(
        "padded_items.csv", "run", text(filler, HEADER).encode(), "accept with warning", False, ("duplicate",)
    )
    empty = [(u, i if r < 8 else "", r, s) for u, i, r, s in rows]
    yield MadeFile(
        "empty_items.csv", "run", text(empty, HEADER).encode(), "accept with warning", False, ("90 rows",)
    )
    minus = [(u, i if r < 8 else "-1", r, s) for u, i, r, s in rows]
    yield MadeFile(
        "padded_minus_one.csv", "run", text(minus, HEADER).encode(), "accept with warning", False, ("-1",)
    )
    yield MadeFile(
        "one_user.csv", "run", text(rows[:LENGTH], HEADER).encode(), "accept|accept with warning", False
    )


def tables(rows: list[Row]) -> Iterator[MadeFile]:
    pairs = [(u, i) for u, i, r, _ in rows if r in (2, 5)]
    yield MadeFile("truth_only_pairs.csv", "truth", text(pairs, "user_id,item_id").encode(), "accept", False)
    yield MadeFile(
        "truth_dates.csv",
        "truth",
        text([(*p, 4, "03.11.2026") for p in pairs], "user_id,item_id,rating,date").encode(),
        "accept|accept with mapping|accept with warning",
        False,
    )
    yield MadeFile(
        "truth_true_false.csv",
        "truth",
        text([(*p, "True") for p in pairs], "user_id,item_id,relevance").encode(),
        "accept with mapping",
        False,
    )
    yield MadeFile(
        "truth_stars.csv",
        "truth",
        text([(*p, "****") for p in pairs], "user_id,item_id,rating").encode(),
        "reject",
        False,
        ("****",),
    )
    yield MadeFile(
        "truth_all_zero.csv",
        "truth",
        text([(*p, 0) for p in pairs], "user_id,item_id,rating").encode(),
        "reject",
        False,
        ("relevant",),
    )
    yield MadeFile(
        "truth_nan.csv",
        "truth",
        text([(*p, "" if n == 3 else 4) for n, p in enumerate(pairs)], "user_id,item_id,rating").encode(),
        "reject|accept with warning",
        False,
        ("line 5",),
    )
    yield MadeFile(
        "train_same.csv",
        "train",
        text(pairs, "user_id,item_id").encode(),
        "accept with warning",
        False,
        ("train and truth",),
    )
    yield MadeFile(
        "train_repeated.csv",
        "train",
        text([*pairs, *pairs], "user_id,item_id").encode(),
        "accept|accept with warning",
        False,
    )
    yield MadeFile(
        "catalogue_no_title.csv",
        "catalogue",
        text([(i, "a") for _, i in pairs], "item_id,genre").encode(),
        "accept|accept with warning",
        False,
    )
    yield MadeFile(
        "catalogue_nfd.csv",
        "catalogue",
        text([(unicodedata.normalize("NFD", f"é{n}"), "t") for n in range(9)], "item_id,title").encode(),
        "accept|accept with warning",
        False,
    )
    mixed = [unicodedata.normalize(form, f"café{n}") for n in range(9) for form in ("NFC", "NFD")]
    yield MadeFile(
        "catalogue_nfc_nfd.csv",
        "catalogue",
        text([(label, "t") for label in mixed], "item_id,title").encode(),
        "accept with warning",
        False,
        ("form",),
    )
    rated = [(u, i, 4, round(3 + n / 100, 2)) for n, (u, i) in enumerate(pairs)]
    yield MadeFile(
        "predictions_twice.csv",
        "predictions",
        text([*rated, *rated], "user_id,item_id,rating,prediction").encode(),
        "accept with warning",
        False,
        ("duplicate",),
    )
    yield MadeFile(
        "predictions_empty.csv",
        "predictions",
        text(
            [(u, i, r, "" if n % 9 == 0 else p) for n, (u, i, r, p) in enumerate(rated)],
            "user_id,item_id,rating,prediction",
        ).encode(),
        "accept with warning",
        False,
        ("no prediction",),
    )
    yield MadeFile(
        "predictions_text.csv",
        "predictions",
        text(
            [(u, i, r, "?" if n == 0 else p) for n, (u, i, r, p) in enumerate(rated)],
            "user_id,item_id,rating,prediction",
        ).encode(),
        "reject",
        False,
        ("?", "line 2"),
    )
    yield MadeFile(
        "users_twice.csv",
        "users",
        text([(u, "DE") for u, _ in pairs], "user_id,country").encode(),
        "accept with warning",
        False,
        ("duplicate",),
    )
    yield MadeFile(
        "users_bare.csv", "users", text([(u,) for u, _ in pairs], "user_id").encode(), "reject", False
    )
    sessions = [
        (f"u{n}", f"s{n}", "AB"[n % 2], f"2026-03-0{1 + n % 9}T09:00:00Z", n % 3, 60) for n in range(40)
    ]
    yield MadeFile(
        "sessions.csv",
        "sessions",
        text(sessions, "unit_id,session_id,variant,start_ts,clicks,watch_s").encode(),
        "accept",
        False,
    )
    no_zone = [(*s[:3], s[3].rstrip("Z"), *s[4:]) for s in sessions]
    yield MadeFile(
        "sessions_no_zone.csv",
        "sessions",
        text(no_zone, "unit_id,session_id,variant,start_ts,clicks,watch_s").encode(),
        "accept with warning",
        False,
        ("zone",),
    )
    negative = [(*s[:4], -1, s[5]) for s in sessions]
    yield MadeFile(
        "sessions_negative.csv",
        "sessions",
        text(negative, "unit_id,session_id,variant,start_ts,clicks,watch_s").encode(),
        "reject",
        False,
        ("-1",),
    )


def truth_of() -> bytes:
    """Returns the test set of the clean run: the items at ranks 2 and 5 of each list, and one elsewhere."""
    rows = [(u, i, 4) for u, i, r, _ in clean_rows() if r in (2, 5)]
    return text([*rows, *((u, "2099", 5) for u, _, _ in rows[::2])], "user_id,item_id,rating").encode()
