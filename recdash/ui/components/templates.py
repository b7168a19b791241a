"""The tables that people upload: what each column means, and a small file of each as a template."""

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
    """A kind of table. ``text`` is a small CSV file of this kind that passes all checks."""

    kind: str
    title: str
    purpose: str
    columns: tuple[TemplateColumn, ...]
    text: str

    def meaning(self, role: str) -> str | None:
        """Returns what the column with this name contains; None if the table has no such column."""
        return next((column.meaning for column in self.columns if column.name == role), None)

    @property
    def file_name(self) -> str:
        return f"recdash-{self.kind}.csv"


def required(name: str, meaning: str) -> TemplateColumn:
    return TemplateColumn(name, True, meaning)


def optional(name: str, meaning: str) -> TemplateColumn:
    return TemplateColumn(name, False, meaning)


RUN = TableTemplate(
    "run",
    "Recommendations",
    "One candidate's lists: one row per user and recommended item.",
    (
        required("user_id", "The user the list is for."),
        required("item_id", "The recommended item."),
        optional("rank", "Position in the list, from 1. It decides the order if there is one."),
        optional("score", "Higher is better. It decides the order if there is no rank."),
        optional("run", "Name of the candidate, when one file holds several."),
        optional("replicate", "Fold or training seed, when one file holds several of a candidate."),
    ),
    "user_id,item_id,rank,score\nu1,film-07,1,0.93\nu1,film-02,2,0.81\nu2,film-07,1,0.88\nu2,film-05,2,0.42\n",
)
TRUTH = TableTemplate(
    "truth",
    "Test set",
    "What users actually chose later. Candidates are scored against it.",
    (
        required("user_id", "The user."),
        required("item_id", "An item that this user chose."),
        optional("relevance", "A rating or grade. Without it every row is relevant."),
        optional("timestamp", "When, as seconds since 1970 or as a date."),
    ),
    "user_id,item_id,relevance\nu1,film-02,4\nu1,film-09,5\nu2,film-05,3\nu3,film-07,5\n",
)
TRAIN = TableTemplate(
    "train",
    "Training data",
    "What the candidates were trained on. Gives novelty, popularity and the user's history.",
    (
        required("user_id", "The user."),
        required("item_id", "An item that this user chose before the train/test split."),
        optional("rating", "Rating or strength."),
        optional("timestamp", "When, as seconds since 1970 or as a date."),
    ),
    "user_id,item_id,timestamp\nu1,film-01,1790000000\nu1,film-03,1790003600\nu2,film-01,1790007200\n",
)
CATALOGUE = TableTemplate(
    "catalogue",
    "Catalogue",
    "Every item that could be recommended. Gives coverage, titles and attributes.",
    (
        required("item_id", "The item."),
        optional("title", "Its name for people."),
        optional("any other column", "An attribute such as year; several values as Crime|Drama."),
    ),
    "item_id,title,genre,year\nfilm-01,The Salt Lantern,Drama,2019\nfilm-02,Seven Orchards,Comedy,2024\n",
)
USERS = TableTemplate(
    "users",
    "User attributes",
    "What is known of each user. Gives slices: scores for some of the users.",
    (
        required("user_id", "The user."),
        required("any other column", "An attribute such as age or country."),
    ),
    "user_id,country,plan,age\nu1,SE,free,34\nu2,PT,paid,27\nu3,SE,paid,51\n",
)
VECTORS = TableTemplate(
    "vectors",
    "Item vectors",
    "A vector of each item, such as its embedding. Gives diversity by vectors.",
    (
        required("item_id", "The item."),
        required("vector", "Its numbers, as many for every item; or a column for each number."),
    ),
    "item_id,vector\nfilm-01,0.8|0.1|0.3\nfilm-02,0.2|0.9|0.4\nfilm-05,0.1|0.7|0.6\n",
)
SIMILARITY = TableTemplate(
    "similarity",
    "Item similarities",
    "How alike two items are. Gives diversity by similarity.",
    (
        required("item_a", "One item."),
        required("item_b", "Another item; a pair is written once or the same both ways."),
        required("similarity", "From -1 to 1; pairs that are not written count as 0."),
    ),
    "item_a,item_b,similarity\nfilm-01,film-02,0.25\nfilm-01,film-05,0.1\nfilm-02,film-05,0.9\n",
)
PREDICTIONS = TableTemplate(
    "predictions",
    "Rating predictions",
    "Predicted against true ratings of one candidate. Gives RMSE and MAE.",
    (
        required("user_id", "The user."),
        required("item_id", "The rated item."),
        required("rating", "The true rating."),
        required("prediction", "The predicted rating, on the same scale."),
    ),
    "user_id,item_id,rating,prediction\nu1,film-02,4,3.6\nu1,film-09,5,4.1\nu2,film-05,3,3.4\n",
)
SESSIONS = TableTemplate(
    "sessions",
    "A/B test",
    "One row per session, or one row per user with a number for each metric, such as revenue.",
    (
        required("unit_id", "The user who was randomized."),
        optional("session_id", "The session. Leave it out where each row is a user."),
        optional("variant", "The user's variant; needed unless there are exposures."),
        optional("start_ts", "When the session began (UTC), or when the user was exposed."),
        optional("end_ts", "When the session ended."),
        optional("clicks", "Clicks on recommendations."),
        optional("watch_s", "Seconds watched that came from recommendations."),
        optional("videos", "Videos watched longer than the threshold."),
        optional(
            "any other column",
            "A number is added up per user and, without sessions, is a metric; pre_revenue is revenue before "
            "the test. A text, such as country, is a segment.",
        ),
    ),
    templates()["sessions"],
)
EXPOSURES = TableTemplate(
    "exposures",
    "A/B test: exposures",
    "Which user saw which variant, and when first. Repeats are allowed.",
    (
        required("unit_id", "The user who was randomized."),
        required("variant", "The user's variant."),
        required("ts", "When the user saw the variant (UTC)."),
        optional("experiment_id", "Which test, when one file holds several."),
        optional("session_id", "In which session."),
        optional("any other column", "A text, such as country, is a segment of the user."),
    ),
    templates()["exposures"],
)
EVENTS = TableTemplate(
    "events",
    "A/B test: events",
    "What users did: one row per event. Sessions and their numbers are computed from it.",
    (
        required("unit_id", "The user who was randomized."),
        optional("session_id", "In which session. Without it, there are no sessions to count."),
        required("ts", "When (UTC)."),
        required("event", "impression, click, watch or heartbeat; others are counted under their own name."),
        optional("item_id", "Which item."),
        optional("value", "An amount, such as the revenue of an order; added up by kind of event."),
        optional("watch_s", "Seconds watched; of a heartbeat: seconds watched so far."),
        optional("source", "Where the item came from. With it, only recommendations count."),
        optional("position", "The item's position in the list, from 1."),
        optional("request_id", "The served list that the item came from."),
        optional("event_id", "Identifies the event; a repeated one counts once."),
    ),
    templates()["events"],
)
SERVED = TableTemplate(
    "served",
    "A/B test: served lists",
    "What was actually shown: one row per served list and item. Gives the online hit ratio.",
    (
        required("request_id", "The list."),
        required("unit_id", "The user it was served to."),
        required("ts", "When it was served (UTC)."),
        required("variant", "The variant that made it."),
        required("rank", "The item's position in the list, from 1."),
        required("item_id", "The item."),
        optional("propensity", "The probability with which the item was shown there."),
        optional("click", "1 where it was clicked there; needed only where the events do not tell."),
    ),
    templates()["served"],
)
AGGREGATES = TableTemplate(
    "aggregates",
    "A/B test: aggregates",
    "One row per variant and metric, or one row per variant with columns for each metric.",
    (
        required("variant", "The variant."),
        optional("metric", "Name of the metric. Without it, columns are named as revenue_sum."),
        optional("n", "Users in the variant, also for a rate, to check their shares. With them …"),
        optional("mean", "… the mean per user …"),
        optional("variance", "… and the variance over users. Or instead of these three:"),
        optional("successes", "for a rate, how many succeeded …"),
        optional("trials", "… out of how many; without it, out of n."),
        optional("sum, sum_squares", "Instead of mean and variance: Σ over users, and Σ of squares."),
        optional("denominator_sum, …", "Of a ratio: also denominator_sum_squares and denominator_product."),
        optional("covariate_sum, …", "The same of the time before the test, which narrows intervals."),
        optional("day", "Rows per day of first exposure. Other columns of text are segments."),
    ),
    templates()["aggregates"],
)
INTERLEAVING = TableTemplate(
    "interleaving",
    "Interleaving test",
    "One row per slot of a list that shows the items of two rankings.",
    (
        required("request_id", "The list."),
        required("unit_id", "The user it was served to."),
        optional("rank", "The item's position in the list, from 1."),
        optional("item_id", "The item."),
        optional("team", "The ranking that the item came from (team draft); empty if from both. Or …"),
        optional("rank_a", "… the item's rank in the first ranking …"),
        optional("rank_b", "… and in the second one (balanced interleaving)."),
        optional("clicked", "1 where it was clicked, 0 where it was not. Or instead of slots:"),
        optional("credit_a", "with one row per request, the credit of the first ranking …"),
        optional("credit_b", "… and of the second one; or team, and:"),
        optional("credit", "with one row per request and team, its credit."),
        optional("timestamp", "When the list was served, for the preference by day."),
    ),
    templates()["interleaving"],
)
BANDIT = TableTemplate(
    "bandit",
    "Logged bandit feedback",
    "What was shown, with which probability, and whether it was clicked. Gives off-policy estimates.",
    (
        required("item_id", "The item that was shown."),
        required("click", "1 where it was clicked, 0 where it was not."),
        required("propensity_score", "With which probability it was shown there, above 0 and up to 1."),
        optional("position", "The position at which it was shown, from 1."),
        optional("timestamp", "When (UTC)."),
        optional(
            "any other column", "What was known of the user or the moment; user_id makes errors by user."
        ),
    ),
    templates()["bandit"],
)
POLICY = TableTemplate(
    "policy",
    "Target policy",
    "With which probability another policy shows each item. It is evaluated on a log of bandit feedback.",
    (
        required("item_id", "The item that may be shown."),
        required("probability", "How likely; adds up to 1 for each combination of the other columns."),
        optional("position", "The position, if the policy depends on it."),
        optional("any other column", "A column of the log that the policy depends on."),
    ),
    templates()["policy"],
)

_OFFLINE = (TRUTH, RUN, TRAIN, CATALOGUE, USERS, VECTORS, SIMILARITY, PREDICTIONS)
_ONLINE = (SESSIONS, EXPOSURES, EVENTS, SERVED, AGGREGATES, INTERLEAVING, BANDIT, POLICY)
TEMPLATES: dict[str, TableTemplate] = {template.kind: template for template in (*_OFFLINE, *_ONLINE)}


def template_button(kind: str, key: str) -> None:
    template, label = TEMPLATES[kind], f"↓ Template: {TEMPLATES[kind].title.lower()}"
    hint = "A small CSV with the columns and a few rows. Opens in any spreadsheet."
    look = {"type": "tertiary", "help": hint}
    key = f"template_{key}_{kind}"
    widgets.download(label, template.text, template.file_name, "text/csv", key, **look)
