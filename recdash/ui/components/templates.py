"""The tables people upload: what each column means, and a small file of each to start from."""

from __future__ import annotations

from dataclasses import dataclass

from recdash.online import templates
from recdash.ui.components import widgets


@dataclass(frozen=True)
class TemplateColumn:
    name: str
    required: bool
    meaning: str


@dataclass(frozen=True)
class TableTemplate:
    """One kind of table: ``text`` is a small CSV that passes the checks as it stands."""

    kind: str
    title: str
    purpose: str
    columns: tuple[TemplateColumn, ...]
    text: str

    def meaning(self, role: str) -> str | None:
        """What the column of this name holds."""
        return next((column.meaning for column in self.columns if column.name == role), None)

    @property
    def file_name(self) -> str:
        return f"recdash-{self.kind}.csv"


RUN = TableTemplate(
    "run",
    "Recommendations",
    "One candidate's lists: one row per user and recommended item.",
    (
        TemplateColumn("user_id", True, "Who the list is for."),
        TemplateColumn("item_id", True, "What is recommended."),
        TemplateColumn("rank", False, "Place in the list, from 1. Where it is there, it decides the order."),
        TemplateColumn("score", False, "The higher, the better. Decides the order where there is no rank."),
        TemplateColumn("run", False, "Name of the candidate, when one file holds several."),
        TemplateColumn(
            "replicate", False, "Fold or training seed, when one file holds several of a candidate."
        ),
    ),
    "user_id,item_id,rank,score\nu1,film-07,1,0.93\nu1,film-02,2,0.81\nu2,film-07,1,0.88\nu2,film-05,2,0.42\n",
)
TRUTH = TableTemplate(
    "truth",
    "Truth",
    "What users really took after the split: the held-out rows that lists are scored against.",
    (
        TemplateColumn("user_id", True, "Who."),
        TemplateColumn("item_id", True, "What this user really took."),
        TemplateColumn("relevance", False, "How much: a rating or grade. Without it every row is relevant."),
        TemplateColumn("timestamp", False, "When, as seconds since 1970 or as a date."),
    ),
    "user_id,item_id,relevance\nu1,film-02,4\nu1,film-09,5\nu2,film-05,3\nu3,film-07,5\n",
)
TRAIN = TableTemplate(
    "train",
    "Train",
    "What the candidates learned from. Gives novelty, popularity and the user's history.",
    (
        TemplateColumn("user_id", True, "Who."),
        TemplateColumn("item_id", True, "What this user took before the split."),
        TemplateColumn("rating", False, "Rating or strength."),
        TemplateColumn("timestamp", False, "When, as seconds since 1970 or as a date."),
    ),
    "user_id,item_id,timestamp\nu1,film-01,1790000000\nu1,film-03,1790003600\nu2,film-01,1790007200\n",
)
CATALOGUE = TableTemplate(
    "catalogue",
    "Catalogue",
    "Every item that could be recommended. Gives coverage, titles and attributes.",
    (
        TemplateColumn("item_id", True, "The item."),
        TemplateColumn("title", False, "Its name for people."),
        TemplateColumn(
            "any other column", False, "An attribute such as year; several values as Crime|Drama."
        ),
    ),
    "item_id,title,genre,year\nfilm-01,The Salt Lantern,Drama,2019\nfilm-02,Seven Orchards,Comedy,2024\n",
)
USERS = TableTemplate(
    "users",
    "User attributes",
    "What is known of each user. Gives slices: scores for some of the users.",
    (
        TemplateColumn("user_id", True, "The user."),
        TemplateColumn("any other column", True, "An attribute such as age or country."),
    ),
    "user_id,country,plan,age\nu1,SE,free,34\nu2,PT,paid,27\nu3,SE,paid,51\n",
)
VECTORS = TableTemplate(
    "vectors",
    "Item vectors",
    "A vector of each item, such as its embedding. Gives diversity by vectors.",
    (
        TemplateColumn("item_id", True, "The item."),
        TemplateColumn("vector", True, "Its numbers, as many for every item; or a column for each number."),
    ),
    "item_id,vector\nfilm-01,0.8|0.1|0.3\nfilm-02,0.2|0.9|0.4\nfilm-05,0.1|0.7|0.6\n",
)
SIMILARITY = TableTemplate(
    "similarity",
    "Item similarities",
    "How alike two items are. Gives diversity by similarity.",
    (
        TemplateColumn("item_a", True, "One item."),
        TemplateColumn("item_b", True, "Another item; a pair is written once or the same both ways."),
        TemplateColumn("similarity", True, "From -1 to 1; pairs that are not written count as 0."),
    ),
    "item_a,item_b,similarity\nfilm-01,film-02,0.25\nfilm-01,film-05,0.1\nfilm-02,film-05,0.9\n",
)
PREDICTIONS = TableTemplate(
    "predictions",
    "Rating predictions",
    "Predicted against true ratings of one candidate. Gives RMSE and MAE.",
    (
        TemplateColumn("user_id", True, "Who."),
        TemplateColumn("item_id", True, "What was rated."),
        TemplateColumn("rating", True, "The true rating."),
        TemplateColumn("prediction", True, "The predicted rating, on the same scale."),
    ),
    "user_id,item_id,rating,prediction\nu1,film-02,4,3.6\nu1,film-09,5,4.1\nu2,film-05,3,3.4\n",
)
SESSIONS = TableTemplate(
    "sessions",
    "Sessions of an online test",
    "One row per session of an A/B test.",
    (
        TemplateColumn("unit_id", True, "The user that was randomised."),
        TemplateColumn("session_id", True, "The session."),
        TemplateColumn("variant", False, "Which arm the user was in; needed unless there are exposures."),
        TemplateColumn("start_ts", True, "When the session began (UTC)."),
        TemplateColumn("end_ts", False, "When it ended."),
        TemplateColumn("clicks", True, "Clicks on recommendations in the session."),
        TemplateColumn("watch_s", True, "Seconds watched that came from recommendations."),
        TemplateColumn("videos", False, "Videos watched past the threshold."),
        TemplateColumn(
            "any other column", False, "A number is added up per user; a text, such as country, is a segment."
        ),
    ),
    templates()["sessions"],
)
EXPOSURES = TableTemplate(
    "exposures",
    "Exposures of an online test",
    "Who was put into which variant, and when they first met it. Repeats are allowed.",
    (
        TemplateColumn("unit_id", True, "The user that was randomised."),
        TemplateColumn("variant", True, "Which arm the user was in."),
        TemplateColumn("ts", True, "When the user met the variant (UTC)."),
        TemplateColumn("experiment_id", False, "Which test, when one file holds several."),
        TemplateColumn("session_id", False, "In which session."),
        TemplateColumn("any other column", False, "A text, such as country, is a segment of the user."),
    ),
    templates()["exposures"],
)
EVENTS = TableTemplate(
    "events",
    "Events of an online test",
    "What users did: one row per event. Sessions and all their numbers are added up from it.",
    (
        TemplateColumn("unit_id", True, "Who did it: the user that was randomised."),
        TemplateColumn("session_id", True, "In which session."),
        TemplateColumn("ts", True, "When (UTC)."),
        TemplateColumn(
            "event", True, "impression, click, watch or heartbeat; others are counted under their own name."
        ),
        TemplateColumn("item_id", True, "Which item."),
        TemplateColumn("watch_s", False, "Seconds watched; of a heartbeat: seconds watched so far."),
        TemplateColumn("source", False, "Where the item came from. With it, only recommendations count."),
        TemplateColumn("position", False, "The place at which the item stood, from 1."),
        TemplateColumn("request_id", False, "The served list that the item came from."),
        TemplateColumn("event_id", False, "The event itself; one that is there twice counts once."),
    ),
    templates()["events"],
)
SERVED = TableTemplate(
    "served",
    "Served lists of an online test",
    "What was really shown: one row per served list and item. Gives the online hit ratio.",
    (
        TemplateColumn("request_id", True, "The list."),
        TemplateColumn("unit_id", True, "Who it was for."),
        TemplateColumn("ts", True, "When it was served (UTC)."),
        TemplateColumn("variant", True, "Which arm made it."),
        TemplateColumn("rank", True, "The item's place in the list, from 1."),
        TemplateColumn("item_id", True, "The item."),
        TemplateColumn("propensity", False, "With which probability the item was shown there."),
        TemplateColumn(
            "click", False, "1 where it was clicked there; needed only where the events do not tell."
        ),
    ),
    templates()["served"],
)
AGGREGATES = TableTemplate(
    "aggregates",
    "Aggregates of an online test",
    "One row per variant and metric, for those who have only a summary.",
    (
        TemplateColumn("variant", True, "The arm."),
        TemplateColumn("metric", True, "Name of the metric."),
        TemplateColumn("n", False, "Users in the arm, also of a rate: their split is checked. With them …"),
        TemplateColumn("mean", False, "… the mean per user …"),
        TemplateColumn("variance", False, "… and the variance over users. Or instead of these three:"),
        TemplateColumn("successes", False, "for a rate, how many succeeded …"),
        TemplateColumn("trials", False, "… out of how many."),
    ),
    templates()["aggregates"],
)
BANDIT = TableTemplate(
    "bandit",
    "Logged bandit feedback",
    "What was shown, with which probability, and whether it was clicked. Gives off-policy estimates.",
    (
        TemplateColumn("item_id", True, "The item that was shown."),
        TemplateColumn("click", True, "1 where it was clicked, 0 where it was not."),
        TemplateColumn(
            "propensity_score", True, "With which probability it was shown there, above 0 and up to 1."
        ),
        TemplateColumn("position", False, "The place at which it was shown, from 1."),
        TemplateColumn("timestamp", False, "When (UTC)."),
        TemplateColumn(
            "any other column",
            False,
            "What was known of the user or the moment; user_id makes errors by user.",
        ),
    ),
    templates()["bandit"],
)
POLICY = TableTemplate(
    "policy",
    "Target policy",
    "How likely another policy would show each item. Asked of a log of bandit feedback.",
    (
        TemplateColumn("item_id", True, "The item that may be shown."),
        TemplateColumn(
            "probability", True, "How likely; 1 in all, for each case that the other columns tell apart."
        ),
        TemplateColumn("position", False, "The place, where the policy depends on it."),
        TemplateColumn("any other column", False, "A column of the log that the policy depends on."),
    ),
    templates()["policy"],
)

_OFFLINE = (TRUTH, RUN, TRAIN, CATALOGUE, USERS, VECTORS, SIMILARITY, PREDICTIONS)
_ONLINE = (SESSIONS, EXPOSURES, EVENTS, SERVED, AGGREGATES, BANDIT, POLICY)
TEMPLATES: dict[str, TableTemplate] = {template.kind: template for template in (*_OFFLINE, *_ONLINE)}


def template_button(kind: str, key: str) -> None:
    template, label = TEMPLATES[kind], f"↓ Template: {TEMPLATES[kind].title.lower()}"
    hint = "A small CSV with the columns and a few rows. Opens in any spreadsheet."
    look = {"type": "tertiary", "help": hint}
    key = f"template_{key}_{kind}"
    widgets.download(label, template.text, template.file_name, "text/csv", key, **look)
