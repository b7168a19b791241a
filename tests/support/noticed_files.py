"""A small file for each code of a notice: reading it gives the notice."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbook import workbook

from recdash.domain.kinds import TableKind


@dataclass(frozen=True)
class NoticedFile:
    """A file with its kind, its name, and the other tables and choices with which it is inspected."""

    kind: TableKind
    data: bytes
    name: str = "file.csv"
    others: Mapping[str, Any] = field(default_factory=dict)


def _run(rows: str, head: str = "user_id,item_id,score", **others: Any) -> NoticedFile:
    return NoticedFile("run", f"{head}\n{rows}\n".encode(), "run.csv", others)


def _truth(rows: str, head: str = "user_id,item_id,relevance") -> NoticedFile:
    return NoticedFile("truth", f"{head}\n{rows}\n".encode(), "truth.csv")


def _table(kind: TableKind, text: str, **others: Any) -> NoticedFile:
    return NoticedFile(kind, text.encode(), f"{kind}.csv", others)


def _zip(files: Mapping[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return file.getvalue()


def _lists(n: int, each: int, item: str = "i{item}", value: str = "{score}") -> str:
    """Returns the rows of ``n`` lists of ``each`` items."""
    rows = [(user, user + place, place) for user in range(n) for place in range(1, each + 1)]
    text = "u{user}," + item + "," + value
    return "\n".join(
        text.format(user=user, item=number, rank=place, score=1 / place) for user, number, place in rows
    )


PAIRS = _lists(6, 3)
RANKED = "user_id,item_id,rank"
TRUTH = b"user_id,item_id\n" + "".join(f"u{user},i{user + 1}\n" for user in range(6)).encode()
SESSIONS = "unit_id,session_id,variant,start_ts,clicks,watch_s"
EXPOSURES = "unit_id,variant,ts"
EVENTS = "unit_id,session_id,ts,event,item_id"

MANY_TEXTS = f"{SESSIONS},town\n" + "".join(
    f"u{n},s{n},{'ab'[n % 2]},2026-03-01T12:00:00Z,1,2,t{n}\n" for n in range(300)
)
KNOWN = [str(number) for number in range(100, 200)]
"""The items of a catalogue: the first forty are test items, four of each user."""
FORTY = b"user_id,item_id\n" + "".join(f"u{n // 4},{KNOWN[n]}\n" for n in range(40)).encode()
CATALOGUE = ("item_id,price\n" + "".join(f"{item},1\n" for item in KNOWN)).encode()
OTHERS = ("item_id,price\n" + "".join(f"{7919 * int(item):x}-é,1\n" for item in KNOWN)).encode()
PREFIXED = CATALOGUE.replace(b"\n1", b"\nmovie_1")


def _known(wrong: int = 0) -> str:
    """Returns lists of six items: two test items and four others; the first ``wrong`` rows have a prefix."""
    items = [(n, item) for n in range(10)
             for item in (KNOWN[4 * n], KNOWN[4 * n + 1], *KNOWN[40 + 6 * n: 44 + 6 * n])]  # fmt: skip
    return "\n".join(
        f"u{n},{'X' if at < wrong else ''}{item},{at % 6 + 1}" for at, (n, item) in enumerate(items)
    )


NOTICED: Mapping[str, NoticedFile] = {
    "columns-guessed": _run("u1,i1,0.5\nu2,i2,0.4", "uid,isbn,score"),
    "no-header": _run("u2,i2,0.4", "u1,i1,0.5"),
    "no-times": NoticedFile("truth", b"u1,i1,5,1\nu1,i2,4,2\nu2,i1,3,1\n"),
    "unnamed-column": _run("1,u1,i1,0.5\n2,u2,i2,0.4"),
    "trailing-delimiter": _run("u1,i1,0.5,\nu2,i2,0.4,"),
    "column-left-out": _table("sessions", MANY_TEXTS),
    "text-among-numbers": _table("catalogue", "item_id,price\ni1,3\ni2,4\ni3,free\n"),
    "yes-no": _truth("u1,i1,yes\nu2,i2,no"),
    "event-synonym": _table("events", f"{EVENTS}\nu1,s1,2026-03-01,view,i1\nu1,s1,2026-03-02,click,i1\n"),
    "wide-table": _run("u1,a,b,c\nu2,b,c,d", "user_id,rec_1,rec_2,rec_3"),
    "columns-unread": _run("u1,a,b,0.5,0.4\nu2,b,c,0.5,0.4", "user_id,rec_1,rec_2,s_1,s_2"),
    "list-column": _run('u1,"[a, b]"\nu2,"[b, c]"', "user_id,items"),
    "split-cells": _run("u1,a|b|c\nu2,b|c|d", "user_id,recommendations"),
    "several-lists": _run('u1,"[a, b]","[b, a]"\nu2,"[b, c]","[c, b]"', "user_id,als,ease"),
    "held-out-column": _run('u1,"[a, b]","[b, a]"\nu2,"[b, c]","[c, b]"', "user_id,als,actual"),
    "several-runs": _run("als,u1,i1,0.5\nease,u1,i2,0.4", "model,user_id,item_id,score"),
    "several-replicates": _run("0,u1,i1,0.5\n1,u2,i2,0.4", "fold,user_id,item_id,score"),
    "file-order": _run("u1,i1\nu1,i2", "user_id,item_id"),
    "empty-scores": _run("u1,i1,\nu1,i2,"),
    "two-scores": _run("u1,i1,0.5,5\nu1,i2,0.4,4\nu1,i3,0.3,3", "user_id,item_id,score,prediction"),
    "distance": _run("u1,i1,0.1\nu1,i2,0.2\nu1,i3,0.3", "user_id,item_id,distance"),
    "ranks-run-down": _run("u1,i1,2\nu1,i2,1\nu2,i3,2\nu2,i4,1\nu3,i3,2\nu3,i4,1", RANKED),
    "ranks-from-zero": _run("u1,i1,0\nu1,i2,1\nu2,i1,0\nu2,i2,1", RANKED),
    "rank-against-score": _run("u1,i1,1,0.4\nu1,i2,2,0.5\nu1,i3,3,0.3", "user_id,item_id,rank,score"),
    "trec": NoticedFile("run", b"u1 Q0 i1 1 0.5 als\nu1 Q0 i2 2 0.4 als\n", "als.run"),
    "trec-without-tag": NoticedFile("run", b"u1 Q0 i1 1 0.5\nu1 Q0 i2 2 0.4\n", "als.run"),
    "trec-rank-conflict": NoticedFile("run", b"u1 Q0 i1 1 0.4 als\nu1 Q0 i2 2 0.5 als\n", "als.run"),
    "ties": _run("u1,i1,0.5\nu1,i2,0.5"),
    "duplicate-ranks": _run("u1,i1,1\nu1,i2,1\nu1,i3,2", RANKED),
    "rank-gaps": _run("u1,i1,1\nu1,i2,3", RANKED),
    "short-lists": _run("u1,i1,1\nu1,i2,2", RANKED),
    "padded-items": _run(
        "\n".join(f"u{user},{item},{place}" for user in range(4)
                  for place, item in enumerate((f"i{user}", f"i{user + 1}", "pad", "pad"), 1)), RANKED
    ),
    "delimiter": NoticedFile("run", b"user_id;item_id;score\nu1;i1;1\nu1;i2;2\n"),
    "decimal-comma": NoticedFile("run", b"user_id;item_id;score\nu1;i1;0,5\nu1;i2;0,4\n"),
    "two-decimal-signs": NoticedFile(
        "truth",
        _zip({
            "part-0000.csv": "user_id;item_id;relevance\nu1;i1;0,5\n",
            "part-0001.csv": "user_id;item_id;relevance\nu2;i2;0.5\n",
        }),
        "truth.zip",
    ),
    "parts": NoticedFile(
        "truth",
        _zip({"part-0000.csv": "user_id,item_id\nu1,i1\n", "part-0001.csv": "user_id,item_id\nu2,i2\n"}),
        "truth.zip",
    ),
    "encoding": NoticedFile("run", "user_id,item_id,score\nu1,é,1\n".encode("latin-1")),
    "gzip": NoticedFile("run", gzip.compress(b"user_id,item_id,score\nu1,i1,1\n")),
    "zip-others": NoticedFile(
        "run", _zip({"run.csv": "user_id,item_id,score\nu1,i1,1\n", "read.pdf": "more"}), "run.zip"
    ),
    "sheet": NoticedFile(
        "run",
        workbook({
            "Notes": [["Made", "by", "hand"]],
            "Run": [["user_id", "item_id", "score"], ["u1", "i1", 1], ["u1", "i2", 0.5]],
        }),
        "run.xlsx",
    ),
    "framed-table": NoticedFile(
        "run", b" user_id | item_id | score\n---------+---------+------\n u | i | 1\n"
    ),
    "footer": _run("u1,i1,0.5\n(1 row)"),
    "comments": NoticedFile("run", b"# made by hand\nuser_id,item_id,score\nu1,i1,1\n"),
    "variant-spellings": _table("exposures", f"{EXPOSURES}\nu1,a,2026-03-01\nu2,A,2026-03-01\n"),
    "type-row": _run("str,str,float64\nu1,i1,0.5\nu2,i2,0.4"),
    "header-again": _run("u1,i1,0.5\nuser_id,item_id,score\nu2,i2,0.4"),
    "json-envelope": NoticedFile(
        "run",
        json.dumps({"data": [{"user_id": "u1", "item_id": "i1", "score": 1}], "page": 1}).encode(),
        "run.json",
    ),
    "decimal-ids": _run("1.0,2.0,0.5\n1.0,3.0,0.4"),
    "mixed-id-forms": _run("u1,2.0,0.5\nu1,3,0.4"),
    "scientific-ids": _run("u1,8.829770E+05,0.5\nu1,3,0.4"),
    "blanks-trimmed": _run("u1, i1,0.5\nu1,i2,0.4"),
    "invisible-characters": _run("u1,i\u200b1,0.5\nu1,i2,0.4"),
    "unicode-forms": _run("u1,x\u00e9,0.5\nu1,xe\u0301,0.4"),
    "number-sign": _run("u1,i1,#1\nu1,i2,#2", RANKED),
    "percent": _run("u1,i1,50%\nu1,i2,40%"),
    "score-nan": _run("u1,i1,0.5\nu1,i2,nan"),
    "score-inf": _run("u1,i1,inf\nu1,i2,0.5"),
    "no-prediction": _table("predictions", "user_id,item_id,rating,prediction\nu1,i1,4,3.5\nu1,i2,4,\n"),
    "negative-relevance": _truth("u1,i1,-1\nu1,i2,1"),
    "outside-scale": _table("predictions", "user_id,item_id,rating,prediction\nu1,i1,4,35\nu1,i2,1,2\n"),
    "zero-vectors": _table("vectors", "item_id,v_1,v_2\ni1,0,0\ni2,1,2\n"),
    "two-sets": _table(
        "aggregates",
        "variant,metric,n,mean,variance,successes,trials\na,ctr,10,0.5,0.2,1,10\nb,ctr,10,0.5,0.2,5,10\n",
    ),
    "naive-times": _table(
        "sessions", f"{SESSIONS}\nu1,s1,a,2026-03-01 12:00,1,2\nu2,s2,b,2026-03-01 12:00,1,2\n"
    ),
    "mixed-time-units": _truth(
        "u1,i1,1700000000\nu1,i2,1700000000\nu1,i3,1700000000000", "user_id,item_id,timestamp"
    ),
    "slash-dates": _truth("u1,i1,13/02/2026\nu1,i2,01/02/2026", "user_id,item_id,timestamp"),
    "text-times": _truth("u1,i1,soon\nu1,i2,late", "user_id,item_id,timestamp"),
    "duplicate-pairs": _run("u1,i1,0.5\nu1,i1,0.4"),
    "duplicate-truth": _truth("u1,i1,1\nu1,i1,2"),
    "duplicate-predictions": _table(
        "predictions", "user_id,item_id,rating,prediction\nu1,i1,4,3\nu1,i1,4,3\n"
    ),
    "duplicate-items": _table("catalogue", "item_id,title\ni1,A\ni1,B\n"),
    "duplicate-users": _table("users", "user_id,age\nu1,3\nu1,4\n"),
    "self-pairs": _table("similarity", "item_a,item_b,similarity\ni1,i1,1\ni1,i2,0.5\n"),
    "missing-item-id": _run("u1,i1,0.5\nu1,,0.4"),
    "without-session": _table(
        "events", f"{EVENTS}\nu1,s1,2026-03-01,click,i1\nu1,,2026-03-01,click,i1\n"
    ),
    "users-without-truth": _run(f"{PAIRS}\nother,i1,0.5", truth=TRUTH),
    "unknown-items": _run(PAIRS, truth=TRUTH, catalogue=b"item_id,title\n" + b"".join(
        b"i%d,A\n" % number for number in range(1, 8))),
    "seen-in-training": _run(PAIRS, truth=TRUTH, train=b"user_id,item_id\nu0,i2\nu1,i3\nu9,i1\n"),
    "train-leaks-truth": _table("train", "user_id,item_id\nu0,i1\nu9,i2\n", truth=TRUTH),
    "some-ids-spelled-otherwise": _run(_known(6), RANKED, truth=FORTY, catalogue=CATALOGUE),
    "hardly-known-ids": _run("u0,x,1\nu0,y,2", RANKED, truth=FORTY),
    "table-spelled-otherwise": _run(_known(), RANKED, truth=FORTY, catalogue=PREFIXED),
    "table-not-met": _run(_known(), RANKED, truth=FORTY, catalogue=OTHERS),
    "truth-as-run": _run(
        "\n".join(f"u{n // 4},{KNOWN[n]},{n % 4 + 1}" for n in range(40)), RANKED, truth=FORTY
    ),
    "nothing-in-train": _run(
        "u0,100,1\nu0,101,2", RANKED, truth=FORTY, train=b"user_id,item_id\nu0,zz\nu1,zy\n"
    ),
    "predictions-apart": _table(
        "predictions",
        "user_id,item_id,rating,prediction\n"
        + "".join(f"u{(n // 4 + 1) % 10},{KNOWN[n]},4,3.5\n" for n in range(40)),
        truth=FORTY,
    ),
    "unread-scores": _run("u1,i1,0.5,1.5\nu1,i2,0.7,1.2\nu1,i3,0.6,1.7", "user_id,item_id,width,height"),
    "items-without-row": _table("catalogue", "item_id,title\ni1,A\ni2,B\n", truth=TRUTH),
    "users-without-row": _table("users", "user_id,age\nu1,3\n", truth=TRUTH),
}  # fmt: skip
"""{code: file}."""
