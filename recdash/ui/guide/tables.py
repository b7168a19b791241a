"""Articles of the guide on the files to add: which ones, their formats and their columns."""

from __future__ import annotations

from recdash.ui.components.templates import TEMPLATES, TableTemplate
from recdash.ui.guide.reading import Article, table_row


def table_article(template: TableTemplate) -> Article:
    """Returns the article about one kind of table: its purpose, its columns and an example."""
    rows = "\n".join(
        table_row(f"`{column.name}`", "required" if column.required else "optional", column.meaning)
        for column in template.columns
    )
    table = f"| column | needed | meaning |\n|---|---|---|\n{rows}"
    return Article(
        f"table-{template.kind}",
        template.title,
        f"{template.purpose}\n\n{table}\n\n```text\n{template.text}```",
        template.kind,
    )


FILES = Article(
    "files",
    "Which files to add",
    """
Drop all files at once under *Add data*. recdash recognises each file by its columns and values and says what
it takes it for. You can correct every guess before anything is stored.

| file | content | columns | needed |
|---|---|---|---|
| **Test set** | what users actually chose later | user, item; relevance, time if known | to compare |
| **Recommendations** | ranked lists of one or more candidates | user, item; rank or score | to compare |
| **Training data** | interactions before the test set's | user, item; rating, time if known | optional |
| **Catalogue** | one row per item | item; title, genre, year … | optional |
| **Users** | one row per user | user; any attribute, such as country | optional |
| **A/B test** | a row per session or user, or a summary | user, variant, numbers | can stand alone |

What the optional files add:

- **Training data**: novelty, known and new users, popular and rare items, reference candidates.
- **Catalogue**: coverage of all items, titles, diversity and shares by genre or any other attribute.
- **Users**: segments by country, age or any other attribute.

A minimal start is a test set and one file of recommendations:

```text
test.csv                      als.csv
user_id,item_id,relevance     user_id,item_id,rank
u1,film-02,4                  u1,film-07,1
u1,film-09,5                  u1,film-02,2
u2,film-05,3                  u2,film-07,1
```

**Column names.** Usual names are recognised (`userId`, `movieId`, `customer`, `isbn`, `sku`, `est` …). For
other names, values decide: the same users and items must occur in several files, ranks count 1, 2, 3, and
scores fall along each list. If columns and values fit both test set and training data, the file name decides
(`test.csv`, `train.csv`), and then the size.

**Relevance.** If the test set has ratings, choose the rating from which on a row is relevant: a 1 of 10 is no
hit. A threshold is suggested by the scale (4 of 5, 7 of 10), with the number of rows that remain.

**Excel.** `.xlsx` files work. Each sheet with a table is a table of its own, as a file in a zip archive; the
sheet's name is the candidate's. A sheet that is no known table is left out.

**An A/B test alone is enough to start.** Add one row per user with the variant and a number per metric, such
as revenue; or sessions, exposures and events as you log them; or a summary per variant. Its number columns
become metrics. For a comparison with offline results, add test set and recommendations later.

Before scoring, recdash checks that users and items of the files match, and names what does not. The
rest of this chapter describes each table, with a template to download.
""",
)

FORMATS = Article(
    "formats",
    "File formats",
    """
- **Delimited text**: CSV, TSV and other delimiters, also gzipped
- **Excel**: `.xlsx`, one table per sheet
- **Parquet** and **JSON lines**
- **JSON**: `{user: {item: score}}`, `{user: [items]}` or `{model: {user: [items]}}`
- **TREC**: run files, with or without the tag, and qrels

Recommendations may have one row per item, one row per user with a list, one column per position, or one
column of lists per model; each model is then a candidate.

recdash refuses a file that can be read in several ways, and says which: rows without a header that may be
scores or lists, ranks that run backwards or contradict the scores, two scores that give different orders.
Choose with the column boxes, with `--columns`, or with `columns=` in Python. For a column called `distance`
or `loss` the lowest value is taken as best, and a notice says so; choose it as the score if the highest is
best. Ranks that start at 0 are accepted with a notice.

Ids stay text: `0110912` keeps its zero. A notice tells you if ids such as `12`, `12.0` and `012` occur
together.
""",
)

TABLES: tuple[Article, ...] = (FILES, FORMATS, *(table_article(template) for template in TEMPLATES.values()))
