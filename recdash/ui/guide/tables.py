"""The guide's articles on tables: formats, and the columns of each kind."""

from __future__ import annotations

from recdash.ui.components.templates import TEMPLATES, TableTemplate
from recdash.ui.guide.reading import Article


def table_article(template: TableTemplate) -> Article:
    """The columns of one kind of table as a Markdown table, with the file to start from."""
    rows = "\n".join(
        f"| `{column.name}` | {'required' if column.required else 'optional'} | {column.meaning} |"
        for column in template.columns
    )
    table = f"| column | needed | meaning |\n|---|---|---|\n{rows}"
    return Article(
        f"table-{template.kind}",
        template.title,
        f"{template.purpose}\n\n{table}\n\n```text\n{template.text}```",
        template.kind,
    )


FORMATS = Article(
    "formats",
    "File formats",
    """
CSV, TSV and other delimiters, also gzipped · Parquet · JSON lines · JSON `{user: {item: score}}`,
`{user: [items]}` or `{model: {user: [items]}}` · TREC run, with or without its tag, and qrels · Excel
(`.xlsx`), one sheet. One row per item, one row per user with a list, one column per place, or one
column of lists per model (each is a candidate) all work. Column names of common libraries are recognised
(`userId`, `movieId`, `qid`, `docno`, `prediction`, `est` …); what was guessed is shown and can be changed
before anything is stored.

Where the values fit several readings, the upload is refused and says which: rows without a header line
that may be scores or lists, ranks that run down or contradict the scores, two scores that order
differently. Choose with the boxes of the columns, with `--columns`, or with `columns=` in Python. Of a
`distance` or a `loss` the least is the best, which is said; choose it as the score where the highest is.
Ranks may count from 0, which is said too.

Ids are text-safe: `0110912` keeps its zero in what you see, and `12`, `12.0` and `012` are reported
where they meet.
""",
)

TABLES: tuple[Article, ...] = (FORMATS, *(table_article(template) for template in TEMPLATES.values()))
