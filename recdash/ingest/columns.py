"""Assigns columns to roles by the names that libraries write; the user's mapping takes precedence.

A *role* is what a column means to recdash (``user_id``, ``score`` …); its *name* is what the file calls it.
To recognise another library's name, add one word to the table below.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from recdash.domain.kinds import DateOrder, Order, TableKind
from recdash.errors import Problem

Reading = Literal[
    "id", "rank", "score", "number", "prediction", "relevance", "time", "text", "run", "extra", "vector",
    "similarity", "moment", "label", "event", "amount", "place", "propensity", "answer", "token",
    "name", "label name", "rank from 0", "reversed score",
]  # fmt: skip

ALWAYS, NEVER = "always", "never"


@dataclass(frozen=True, slots=True)
class Role:
    """The meaning of a column: how its values are read, and the names by which it is recognised.

    The likeliest name comes first. ``required``: the table needs the column. ``filled``: which rows need a
    value: ``ALWAYS``, ``NEVER``, or the rows in which the role of that name has one. ``gaps`` says what
    happens to rows without a value, if not all need one. ``whole``: if the table has this optional column, it
    is read like a required one.
    """

    name: str
    reading: Reading
    names: str
    required: bool = True
    filled: str = ALWAYS
    gaps: str = ""
    whole: bool = False

    def optional(self) -> Role:
        return replace(self, required=False)

    def optional_as_a_whole(self) -> Role:
        return replace(self, required=False, whole=True)


USERS_TRANSLATED = (
    "utilisateur utilisateur_id id_utilisateur client_id id_client abonné abonne acheteur lecteur "
    "usuario usuario_id id_usuario cliente cliente_id id_cliente comprador "
    "benutzer benutzer_id nutzer nutzer_id kunde kunden_id kunden_nr kundennummer"
)
"""Names of a user in French, Spanish and German."""
ITEMS_TRANSLATED = (
    "article_id id_article produit produit_id id_produit livre livre_id id_livre "
    "artículo articulo articulo_id id_articulo producto producto_id id_producto película pelicula libro "
    "artikel artikel_id artikel_nr artikelnummer produkt produkt_id produkt_nr produktnummer buch"
)
"""Names of an item in French, Spanish and German."""
RATINGS_TRANSLATED = "bewertung valoración valoracion calificación calificacion évaluation note nota"
"""Names of a rating in French, Spanish and German."""
COUNTS_TRANSLATED = (
    "wiedergaben wiedergabeanzahl menge anzahl stück stueck stückzahl stueckzahl käufe kaeufe "
    "lectures écoutes ecoutes quantité quantite qté qte achats "
    "reproducciones escuchas cantidad compras"
)
"""Names of counts of plays and purchases in German, French and Spanish."""
TIMES_TRANSLATED = (
    "datum zeitpunkt zeitstempel bestelldatum kaufdatum horodatage date_achat date_commande "
    "fecha fecha_hora fecha_compra fecha_pedido"
)
"""Names of a date or time in German, French and Spanish."""
AMBIGUOUS = frozenset({"note", "nota"})
"""Names that are ratings only beside a translated name of users or items; elsewhere they are remarks."""

USER = Role(
    "user_id",
    "id",
    "user_id user uid u users user_idx userindex query_id query qid q_id query_no member_id customer_id "
    "client_id visitor_id account_id viewer_id profile_id unit_id reviewer_id user_key username customer "
    "cust_id member client visitor account viewer subscriber subscriber_id shopper shopper_id buyer buyer_id "
    "reader reader_id listener listener_id player player_id guest_id person person_id patron_id reviewer "
    f"cust_no customer_no customer_number {USERS_TRANSLATED}",
)
ITEM = Role(
    "item_id",
    "id",
    "item_id item iid i movie_id movie mid sid item_idx itemindex doc_id docno doc document_id docid did "
    "product_id video_id article_id news_id track_id song_id book_id asin sku film_id show_id title_id "
    "content_id item_key items item_ids recommendations recs recommended recommended_items predicted "
    "prediction_list ranked_items movies docs item_list rec_items product isbn isbn13 isbn10 ean upc gtin "
    "barcode sku_id item_sku product_sku article_no part_number listing_id recipe_id hotel_id job_id "
    "course_id game_id episode_id artist_id book film article video song track show title "
    f"{ITEMS_TRANSLATED}",
)
SCORE = Role(
    "score",
    "score",
    "score scores prediction est predicted_score pred predicted_rating relevance_score preds weight "
    "similarity sim estimate y_pred logit probability prob confidence affinity value rating puntuación "
    f"puntuacion puntaje punktzahl vorhersage prédiction predicción prediccion {RATINGS_TRANSLATED}",
    required=False,
)
RANK = Role(
    "rank",
    "rank",
    "rank ranks ranking position pos place item_rank rank_no slot rang posición posicion rango platz",
    required=False,
)
RUN = Role(
    "run",
    "run",
    "model recommender algorithm algo system run run_name run_id model_name recommender_name method "
    "candidate",
    required=False,
)
REPLICATE = Role(
    "replicate",
    "run",
    "replicate replicate_id replication fold fold_id fold_idx fold_index fold_no fold_number cv_fold kfold "
    "seed seed_id random_seed random_state repeat repeat_id repetition split split_id",
    required=False,
)
RELEVANCE = Role(
    "relevance",
    "relevance",
    "relevance relevant rel label rating ratings r_ui grade gain is_relevant y_true true_rating target "
    "feedback stars score weight clicked click liked like purchased watched value count interaction qty "
    f"quantity units copies n_purchases purchases orders plays play_count listens {RATINGS_TRANSLATED} "
    f"{COUNTS_TRANSLATED}",
    required=False,
)
TIME = Role(
    "timestamp",
    "time",
    "timestamp ts time date datetime unix_timestamp event_time created_at ordered_at order_date purchased_at "
    f"purchase_date rated_at reviewed_at viewed_at {TIMES_TRANSLATED}",
    required=False,
)
RATING = Role(
    "rating",
    "number",
    f"rating r_ui true_rating actual y_true relevance label stars truth true score {RATINGS_TRANSLATED}",
)
PREDICTION = Role(
    "prediction", "prediction", "prediction est pred predicted predicted_rating y_pred estimate score preds"
)
TITLE = Role(
    "title",
    "text",
    "title name item_name movie_title item_title label titel filmtitel buchtitel produktname artikelname "
    "bezeichnung titre nom intitulé titulo título nombre titolo nome tytuł naslov otsikko назва название",
    required=False,
)

VECTOR = Role(
    "vector",
    "vector",
    "vector vectors embedding embeddings emb item_vector item_embedding item_factors features factors latent",
)
ITEM_A = Role("item_a", "id", "item_a item_id_a item_id_1 item_1 item_i source_item seed_item item_id item")
ITEM_B = Role(
    "item_b",
    "id",
    "item_b item_id_b item_id_2 item_2 item_j target_item similar_item similar_item_id other_item neighbor "
    "neighbour neighbor_id neighbour_id",
)
SIMILARITY = Role("similarity", "similarity", "similarity sim cosine cosine_similarity score weight value")

UNIT = Role(
    "unit_id",
    "id",
    "unit_id user_id user uid visitor_id customer_id client_id member_id account_id visitor customer "
    "client member account subject_id subject distinct_id stable_id "
    "shopper_id shopper buyer_id buyer player_id player device_id anonymous_id cust_id "
    f"subscriber_id cust_no customer_no customer_number {USERS_TRANSLATED}",
)
SESSION = Role(
    "session_id",
    "id",
    "session_id session sid session_key visit_id",
    filled=NEVER,
    gaps="Their users count as exposed without a session, unless other rows have one.",
)
VARIANT = Role(
    "variant",
    "name",
    "variant group arm bucket variation test_group treatment cell experiment_group variation_id "
    "variation_name variant_id variant_name ab_group test_arm version branch cohort condition group_name "
    "group_id treatment_group experiment_variant exp_variant exp_group ab_variant variation_key "
    "feature_variant alternative assignment",
)
START = Role(
    "start_ts",
    "moment",
    "start_ts session_start start start_time started_at timestamp ts time date "
    "exposed_at first_exposed_at first_exposure exposure_time exposure_ts exposure_date assigned_at "
    "assignment_time enrolled_at first_exposure_date",
    filled=NEVER,
)
END = Role("end_ts", "moment", "end_ts session_end end end_time ended_at last_ts", required=False)
CLICKS = Role(
    "clicks",
    "amount",
    "clicks n_clicks click_count rec_clicks recommendation_clicks click",
    filled=SESSION.name,
)
WATCH = Role(
    "watch_s",
    "amount",
    "watch_s watch_seconds watch_time watch_time_s seconds_watched duration_s watch",
    filled=SESSION.name,
)
VIDEOS = Role("videos", "amount", "videos n_videos videos_watched video_count watched_videos", required=False)

EXPERIMENT = Role(
    "experiment_id",
    "label",
    "experiment_id experiment exp_id experiment_name test_id test_name ab_test",
    required=False,
)
ARM = replace(VARIANT, reading="label name")
MOMENT = Role(
    "ts",
    "moment",
    "ts timestamp time datetime date event_time event_ts created_at occurred_at exposed_at "
    f"{TIMES_TRANSLATED}",
)
EVENT = Role(
    "event",
    "event",
    "event event_type event_name action action_type interaction interaction_type type metric_name metric",
)
THING = replace(
    ITEM,
    names="item_id item iid movie_id movie doc_id product_id video_id article_id news_id track_id song_id "
    "book_id asin sku film_id show_id title_id content_id",
    filled=NEVER,
    gaps="They count as events of their session without an item.",
)
LOG_UNIT = replace(UNIT, reading="token")
LOG_SESSION = replace(
    SESSION, reading="token", gaps="Only the online hit ratio uses them, since they belong to no session."
)
WATCHED = replace(WATCH, names=f"{WATCH.names} duration", required=False)
VALUE = Role(
    "value",
    "amount",
    "value amount revenue price event_value metric_value sales sales_amount order_value turnover total_value",
    required=False,
)
SOURCE = Role("source", "label", "source surface placement origin channel widget module feed", required=False)
POSITION = Role("position", "place", "position pos slot place rank", required=False)
REQUEST = Role(
    "request_id", "token", "request_id request req_id recommendation_id rec_id list_id slate_id served_id",
)  # fmt: skip
EVENT_ID = Role("event_id", "token", "event_id event_uuid uuid message_id insert_id", required=False)
PROPENSITY = Role(
    "propensity", "propensity", "propensity propensity_score pscore action_prob logging_prob", required=False
)
LOGGED_PROPENSITY = Role(
    "propensity_score",
    "propensity",
    "propensity_score propensity pscore action_prob logging_prob probability prob",
)
PROBABILITY = Role(
    "probability", "number", "probability prob p target_probability action_prob propensity propensity_score"
)
CLICK = Role("click", "answer", "click clicked clicks is_click reward label feedback")
INTERLEAVED_RANK = Role("rank", "place", "rank position pos slot place", required=False)
TEAM = Role(
    "team",
    "label",
    "team drafted_by picked_by contributed_by ranker ranking system model algorithm recommender run source",
    required=False,
    filled=NEVER,
)
CLICKED = Role("clicked", "answer", "clicked click is_click clicks label", required=False)
RANK_A = Role("rank_a", "place", "rank_a a_rank position_a rank_in_a", required=False)
RANK_B = Role("rank_b", "place", "rank_b b_rank position_b rank_in_b", required=False)
CREDIT = Role("credit", "amount", "credit credits score reward", required=False)
CREDIT_A = Role("credit_a", "amount", "credit_a a_credit credits_a clicks_a wins_a", required=False)
CREDIT_B = Role("credit_b", "amount", "credit_b b_credit credits_b clicks_b wins_b", required=False)
LOGGED_AT = replace(MOMENT, name="timestamp", required=False)

METRIC = Role("metric", "name", "metric metric_name measure kpi name")
USERS = Role(
    "n",
    "number",
    "n n_users users count sample_size size observations nobs subjects n_subjects num_subjects num_users "
    "user_count units n_units num_units exposed n_exposed assigned n_assigned visitors n_visitors customers "
    "n_customers",
)
MEAN = Role("mean", "number", "mean average avg value estimate", required=False)
VARIANCE = Role("variance", "number", "variance var sample_variance", required=False)
SUCCESSES = Role(
    "successes",
    "number",
    "successes success conversions converted positives converters n_converted",
    required=False,
)
DAY = Role("day", "extra", "day date ds dt exposure_date first_exposure_date event_date", required=False)
TRIALS = Role("trials", "number", "trials attempts total denominator", required=False)

ROLES: Mapping[TableKind, tuple[Role, ...]] = {
    "run": (USER, ITEM, RANK, SCORE, RUN, REPLICATE),
    "truth": (USER, ITEM, RELEVANCE, TIME),
    "train": (USER, ITEM, RATING.optional(), TIME),
    "catalogue": (ITEM, TITLE),
    "users": (USER,),
    "vectors": (ITEM, VECTOR),
    "similarity": (ITEM_A, ITEM_B, SIMILARITY),
    "predictions": (USER, ITEM, RATING, PREDICTION),
    "sessions": (
        *(UNIT, SESSION.optional_as_a_whole(), VARIANT.optional_as_a_whole(), START.optional_as_a_whole()),
        *(END, CLICKS.optional_as_a_whole(), WATCH.optional_as_a_whole(), VIDEOS),
    ),
    "exposures": (EXPERIMENT, UNIT, ARM, MOMENT, replace(SESSION, required=False)),
    "events": (
        *(
            LOG_UNIT,
            LOG_SESSION.optional_as_a_whole(),
            MOMENT,
            EVENT,
            THING.optional_as_a_whole(),
            WATCHED,
            VALUE,
            SOURCE,
        ),
        *(POSITION, REQUEST.optional(), EVENT_ID),
    ),
    "served": (
        *(REQUEST, LOG_UNIT, MOMENT, ARM, replace(RANK, required=True), replace(THING, filled=ALWAYS)),
        *(PROPENSITY, CLICK.optional()),
    ),
    "interleaving": (
        *(REQUEST, LOG_UNIT, INTERLEAVED_RANK, replace(THING, required=False), TEAM, CLICKED),
        *(RANK_A, RANK_B, CREDIT, CREDIT_A, CREDIT_B, LOGGED_AT),
    ),
    "bandit": (replace(THING, filled=ALWAYS), POSITION, CLICK, LOGGED_PROPENSITY, LOGGED_AT),
    "policy": (replace(THING, filled=ALWAYS), POSITION, PROBABILITY),
    "aggregates": (
        VARIANT,
        METRIC.optional_as_a_whole(),
        USERS.optional(),
        MEAN,
        VARIANCE,
        SUCCESSES,
        TRIALS,
        DAY,
    ),
}

INTERLEAVING_SETS = (
    {"team", "clicked"}, {"rank_a", "rank_b", "clicked"}, {"credit_a", "credit_b"}, {"team", "credit"},
)  # fmt: skip
"""Sets of roles, one of which an interleaving test needs."""

A_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]|$)|\d{1,2}/\d{1,2}/\d{4}( |$)|\d{1,2}\.\d{1,2}\.\d{4}( |$)")
"""2024-02-01, 1/2/2024 or 01.02.2024, which a time may follow."""
_DAY, _CLOCK = r"(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])", r"([01]\d|2[0-3])([0-5]\d)([0-5]\d)"
COMPACT = rf"^(19[7-9]\d|20\d\d){_DAY}({_CLOCK})?(\.0+)?$"
"""20240201 or 20240201093000."""
SECONDS = re.compile(r"[1-9]\d{8,}(\.\d+)?$")
"""A number of at least nine digits: seconds since 1970 from 1973 on, as FIRST_TIME of values, or parts of
seconds.
"""
A_TIME = re.compile(f"{A_DATE.pattern}|{SECONDS.pattern}|{COMPACT}")
FIRST_SECOND, LAST_SECOND = 1_000_000_000, 2_000_000_000
"""Seconds since 1970, in 2001 and 2033."""
UNITS_OF_TIME = (1, 10**3, 10**6, 10**9)
"""Seconds, milli-, micro- and nanoseconds, in units per second."""
A_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
LEAST_TIME = 100_000
"""Smaller numbers would be seconds of the first two days of 1970: they are ratings, counts or folds."""
# roles of a table without a header, by position (for the third column of a run see by_position)
POSITIONS: Mapping[TableKind, tuple[str, ...]] = {
    "run": ("user_id", "item_id", "score", "rank"),
    "truth": ("user_id", "item_id", "relevance", "timestamp"),
    "train": ("user_id", "item_id", "rating", "timestamp"),
    "catalogue": ("item_id", "title"),
    "users": ("user_id",),
    "vectors": ("item_id",),
    "similarity": ("item_a", "item_b", "similarity"),
    "predictions": ("user_id", "item_id", "rating", "prediction"),
}

WITH_ATTRIBUTES = frozenset(
    {"catalogue", "users", "sessions", "exposures", "interleaving", "bandit", "policy", "aggregates"}
)
"""Kinds of tables in which every column without a role is an attribute."""
ROW_BY_ROW = frozenset({"vectors", "exposures", "events", "served", "interleaving", "bandit", "policy"})
"""Kinds of tables that have no lists of items."""


@dataclass(frozen=True, slots=True)
class WideRole:
    """A role that several numbered columns can have together, and the roles that other columns then have."""

    role: Role
    beside: tuple[str, ...]
    what: str
    says: str
    any_name: bool = True
    """True if the columns may have any name, False if it must be one of the role's."""


ITEMS_OF_A_USER = WideRole(
    ITEM, ("user_id",), "the items", "{n} items of one user per row", any_name=False
)  # fmt: skip
WIDE_ROLES: Mapping[TableKind, WideRole] = {
    "run": WideRole(
        ITEM, ("user_id", "run", "replicate"), "the items", "the positions 1 to {n} of one list per row"
    ),
    "truth": ITEMS_OF_A_USER,
    "train": ITEMS_OF_A_USER,
    "vectors": WideRole(VECTOR, ("item_id",), "the vector", "the {n} numbers of one vector per row"),
}

IDENTIFYING: tuple[Reading, ...] = ("id", "token", "text", "name", "label", "label name", "event", "vector")
"""Ways of reading of columns that say what a row is about."""
SHOWN = 10
CHOOSE = " (--columns, columns= in Python, or the details of a file on the page Add data)"
DISTANCES = ("distance", "distances", "dist")
LESS_IS_BETTER = (*DISTANCES, "loss", "losses", "nll", "cost", "energy", "perplexity")
LISTS, SINGLE = "[]", "[1]"
"""Marks after the name of an item column: each cell contains a list, or a single item."""
DATE_ORDERS: Mapping[str, DateOrder] = {" (day first)": "day", " (month first)": "month"}
"""Marks after the name of a column of times: what comes first in dates such as 1/2/2024."""
REVERSED = "-"
"""Mark before the name of a score column: the smallest value is the best."""
WORDS = {
    "user_id": "user",
    "item_id": "item",
    "item_a": "first item",
    "item_b": "second item",
    "unit_id": "unit",
    "session_id": "session",
    "request_id": "request",
    "experiment_id": "experiment",
}


@dataclass(frozen=True)
class Columns:
    """The result of assigning columns to roles.

    ``mapping`` is role → column; ``wide`` are the columns of a wide list, best first.
    """

    mapping: Mapping[str, str]
    wide: tuple[str, ...] = ()
    families: tuple[str, ...] = ()  # labels that a wide role may be mapped to, see wide_label
    notices: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = field(default=())
    reversed_score: bool = False
    """True if the smallest score is the best, as of a distance or a loss."""
    ranks_from: int = 1
    models: tuple[str, ...] = ()
    """Columns of lists, one per candidate; ``mapping`` has the first of them."""
    scores: tuple[str, ...] = ()
    """Columns of scores, one per candidate; ``mapping`` has the first of them."""
    listed: bool = False
    """True if the item column contains lists, whatever its name."""
    single: bool = False
    """True if each cell of the item column contains a single item, whatever it looks like."""
    mark: str = ""
    """The user's mark for the item column: ``LISTS`` or ``SINGLE``."""
    separator: str | None = None
    """Separator of the items in a cell; None if it is unknown or a blank."""
    dates: Mapping[str, DateOrder] = field(default_factory=dict)
    """Role of times → what comes first in its dates, as the user stated it."""

    @property
    def marked_items(self) -> dict[str, str]:
        """Returns {"item_id": column with the user's mark}; empty without a mark."""
        column = self.mapping.get("item_id")
        return {"item_id": f"{column}{self.mark}"} if column and self.mark else {}


@dataclass(frozen=True, slots=True)
class KnownOrder:
    """What is known about the order of a run's lists, so that the user is not asked.

    ``order`` says what orders them, if the user stated it. ``checked``: the table was examined before, and
    questions were answered.
    """

    order: Order | None = None
    checked: bool = False


@dataclass(frozen=True)
class SharedColumns:
    """A mapping {role: column} for all tables of a request, and which tables have the columns.

    ``seen`` ({table: its columns}) and ``used`` (roles found in some table) are filled while tables are read.
    """

    chosen: Mapping[str, str]
    seen: dict[str, tuple[str, ...]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def within(self, kind: TableKind, table: str, columns: Sequence[str]) -> dict[str, str]:
        """Returns the part of the mapping that applies to a table of ``kind`` with these columns."""
        roles = {role.name for role in ROLES[kind]}
        here = {
            role: column
            for role, column in self.chosen.items()
            if role in roles and (not column.strip() or is_column(column, columns))
        }
        self.seen[table] = tuple(columns)
        self.used.update(here)
        return here


class TableMapping(dict[str, str]):
    """A mapping {role: column} for one table, together with the mapping for all tables of the request."""

    def __init__(self, own: Mapping[str, str], shared: SharedColumns) -> None:
        super().__init__(own)
        self.shared = shared

    def within(self, kind: TableKind, table: str, columns: Sequence[str]) -> dict[str, str]:
        return {**self.shared.within(kind, table, columns), **self}

    def shared_names_place(self, columns: Sequence[str]) -> bool:
        """Returns True if the mapping for all tables names columns of this table by position (``column 2``).

        Only tables without known column names, which may have no header, have such positions.
        """
        return not any(map(is_known, columns)) and names_place(self.shared.chosen.values(), columns)

    def unmet(self, kind: TableKind, columns: Sequence[str], mapping: Mapping[str, str]) -> list[Problem]:
        """Returns a problem for each required role whose column in the shared mapping is missing here.

        If there is one, mapped columns that no table has had so far are reported too.
        """
        needed = {role.name for role in ROLES[kind] if role.required} - {*self}
        needed_columns = {
            role: column for role, column in self.shared.chosen.items() if role in needed and column
        }
        if not set(needed_columns) - set(mapping):
            return []
        open_ = {r: c for r, c in needed_columns.items() if r not in mapping or r not in self.shared.used}
        ends = [{role: end} for role, label in open_.items() for end in _ends(label)]
        return [problem for end in ends for problem in _unknown_columns(columns, end)]


def names_place(labels: Iterable[str], columns: Sequence[str]) -> bool:
    """Returns True if a label is a column's position (``column 2``), or a range with such an end."""
    places = {f"column {place}" for place in range(1, len(columns) + 1)} - set(columns)
    return any(end.casefold() in places for label in labels for end in _ends(unmarked(label, columns)[0]))


def is_column(label: str, columns: Sequence[str]) -> bool:
    """Returns True if ``label`` refers to columns of the table.

    It may be a column, a reversed column (``-distance``), the ends of a list (``r1..r3``), several columns of
    lists (``als,ease``), or a column with a mark (``items[]``).
    """
    spelling = spelled(label, columns)
    ends = _ends(spelling)
    return (
        spelling in columns
        or unmarked(spelling, columns)[0] in columns
        or bool(_several_columns(spelling, columns))
        or spelling.removeprefix(REVERSED) in columns
        or (len(ends) == 2 and set(ends) <= set(columns))
    )


def spelled(label: str, columns: Sequence[str]) -> str:
    """Returns ``label`` with column names as the table spells them.

    Surrounding blanks and case are ignored, unless two columns differ in nothing else.
    """
    trimmed, ends = label.strip(), _ends(label)
    spelling = _spelled_name(label, columns)
    if spelling in columns:
        return spelling
    bare, mark = unmarked(trimmed, columns)
    if mark:
        return f"{_spelled_name(bare, columns)}{mark}"
    if several := _several_columns(trimmed, columns):
        return ",".join(several)
    if trimmed.startswith(REVERSED):
        return REVERSED + _spelled_name(trimmed.removeprefix(REVERSED), columns)
    return " … ".join(_spelled_name(end, columns) for end in ends) if len(ends) == 2 else spelling


def unmarked(
    label: str, columns: Sequence[str], marks: Collection[str] = (LISTS, SINGLE, *DATE_ORDERS)
) -> tuple[str, str]:
    """Returns the column's name and its mark: ``items[]`` gives ``items`` and ``[]``.

    The mark is empty if the label has none of the ``marks``.
    """
    mark = next((mark for mark in marks if label.endswith(mark) and label not in columns), "")
    return (label.removesuffix(mark), mark) if mark else (label, "")


def _several_columns(label: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Returns the columns in a label such as ``als,ease``; empty if one of them does not exist."""
    names = tuple(_spelled_name(name, columns) for name in label.split(","))
    return names if len(names) > 1 and set(names) <= set(columns) else ()


def _spelled_name(name: str, columns: Sequence[str]) -> str:
    if name in columns:
        return name
    alike = [column for column in columns if column.strip().casefold() == name.strip().casefold()]
    return alike[0] if len(alike) == 1 else name.strip()


def _ends(label: str) -> list[str]:
    """Returns the first and last column of ``rec_1 … rec_9``, which may be written with two or three dots.

    Any other label is returned as the only element.
    """
    return [end.strip() for end in label.replace("...", "…").replace("..", "…").split("…")]


TYPE_SUFFIX = re.compile(r":(token|float)(_seq)?$")
"""The end of a column's name as RecBole writes it."""


def plain(name: str) -> str:
    """Returns a name in lower case, without blanks and punctuation.

    ``userId``, ``User ID`` and ``user_id`` become equal.
    """
    lower = name.strip().lower()
    untyped = TYPE_SUFFIX.sub("", lower) if ":" in lower else lower
    return untyped if untyped.isalnum() else "".join(filter(str.isalnum, untyped))


def names_of(role: Role) -> tuple[str, ...]:
    return tuple(map(plain, role.names.split()))


TRANSLATED = frozenset(plain(name) for name in f"{USERS_TRANSLATED} {ITEMS_TRANSLATED}".split())
KNOWN = frozenset(name for roles in ROLES.values() for role in roles for name in names_of(role))


def is_known(name: str) -> bool:
    """Returns True if some role of some table has this name, which distinguishes a header from data."""
    return plain(name) in KNOWN


def role_named(kind: TableKind, name: str) -> Role:
    return next(role for role in ROLES[kind] if role.name == name)


def assign(
    kind: TableKind,
    columns: Sequence[str],
    explicit: Mapping[str, str] | None = None,
    fixed: Mapping[str, str] | None = None,
    positions: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
) -> Columns:
    """Returns the columns assigned to the roles of ``kind``.

    ``explicit`` is the user's mapping (an empty column leaves the role out), ``fixed`` is prescribed by the
    format, ``positions`` is suggested by the positions in a table without a header; ``without`` are roles to
    leave unassigned. Never raises: the result has the problems.
    """
    stated = {role: spelled(column, columns) for role, column in (explicit or {}).items()}
    left_out = [role for role, column in stated.items() if not column]
    without, stated = [*without, *left_out], {role: column for role, column in stated.items() if column}
    stated, mark, models = _said_of_cells(kind, columns, stated)
    stated, dates = _said_of_dates(kind, columns, stated)
    families = _families(kind, columns, {**(positions or {}), **stated}, no_header=positions is not None)
    spread = WIDE_ROLES[kind].role.name if kind in WIDE_ROLES else ""
    chosen, problems = _chosen_range(columns, families, spread, stated.get(spread, ""))
    explicit = {r: c for r, c in stated.items() if not (r == spread and (chosen or problems))}
    scores = _several_columns(explicit.get("score", ""), columns) if kind == "run" else ()
    explicit = {**explicit, "score": scores[0]} if scores else explicit
    score = explicit.get("score", "")
    reversed_score = score.startswith(REVERSED) and score not in columns
    if reversed_score:
        explicit = {**explicit, "score": score.removeprefix(REVERSED)}
    problems = [*problems, *_unknown_roles(kind, [*explicit, *without]), *_unknown_columns(columns, explicit)]
    known = {role: column for role, column in explicit.items() if column in columns}
    by_format = fixed if fixed is not None else positions or {}
    free = {role: column for role, column in by_format.items() if column not in known.values()}
    assigned = {**free, **known}
    guessed = {} if fixed is not None or positions is not None else _guess(kind, columns, assigned)
    likely_roles = {**guessed, **assigned}
    mapping = {role: c for role, c in likely_roles.items() if role not in without}
    families = {} if spread in mapping and not chosen else families
    likely = [chosen] if chosen else _likely(kind, families)
    wide = likely[0] if len(likely) == 1 else ()
    if wide:  # a whole list has no score or rank beside it
        mapping = {role: mapping[role] for role in WIDE_ROLES[kind].beside if role in mapping}
    if not problems:
        open_role = spread if likely else ""
        problems += _twice(kind, columns, mapping) or _missing(kind, columns, mapping, open_role, left_out)
        problems += _which_family(kind, likely)
    ordered = {role.name: mapping[role.name] for role in ROLES[kind] if role.name in mapping}
    reversed_score = reversed_score and "score" in ordered
    displayed = {**ordered, **({"score": f"{REVERSED}{ordered['score']}"} if reversed_score else {})}
    several = {"item_id": models, "score": scores}  # each of them becomes one candidate's column
    displayed = {role: column for role, column in displayed.items() if not several.get(role)}
    notices = _notices(kind, displayed, wide, positions is not None, fixed, stated)
    unread = [label for label, family in families.items() if wide and set(family).isdisjoint(wide)]
    if unread:
        finding = f"not read: {listed(unread)}; the order of '{wide_label(wide)}' gives the ranking"
        notices.append(Problem("columns-unread", "columns", finding, "Write one row per item to use them."))
    return Columns(
        ordered,
        wide,
        tuple(families),
        tuple(notices),
        tuple(problems),
        reversed_score,
        models=models,
        scores=scores,
        listed=mark == LISTS or bool(models),
        single=mark == SINGLE,
        mark=mark,
        dates={role: order for role, order in dates.items() if role in ordered},
    )


def is_of_times(role: Role) -> bool:
    return role.reading in ("time", "moment")


def _said_of_dates(
    kind: TableKind, columns: Sequence[str], stated: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, DateOrder]]:
    """Returns ``stated`` without marks of dates, and role → what comes first in its dates."""
    names, orders = dict(stated), dict[str, DateOrder]()
    for role in ROLES[kind]:
        column, mark = unmarked(stated.get(role.name, ""), columns, DATE_ORDERS)
        if mark and is_of_times(role):
            names[role.name], orders[role.name] = column, DATE_ORDERS[mark]
    return names, orders


def _said_of_cells(
    kind: TableKind, columns: Sequence[str], stated: Mapping[str, str]
) -> tuple[dict[str, str], str, tuple[str, ...]]:
    """Returns ``stated`` with a single item column, the mark after it, and all item columns of a run.

    The item columns are empty unless the run has several.
    """
    if "item_id" not in stated:
        return dict(stated), "", ()
    models = _several_columns(stated["item_id"], columns) if kind == "run" else ()
    column, mark = (models[0], "") if models else unmarked(stated["item_id"], columns, (LISTS, SINGLE))
    return {**stated, "item_id": column}, mark, models


def _chosen_range(
    columns: Sequence[str], families: Mapping[str, tuple[str, ...]], role: str, label: str
) -> tuple[tuple[str, ...], list[Problem]]:
    """Returns the columns of a range ``rec_1 … rec_9``, and the problems of its ends.

    The columns are in numeric order if both ends belong to one numbered group, else in table order. Both
    results are empty if ``label`` is not a range.
    """
    ends = _ends(label)
    if len(ends) != 2 or label in columns:
        return (), []
    unknown = [problem for end in ends for problem in _unknown_columns(columns, {role: end})]
    if unknown:
        return (), unknown
    among = next((family for family in families.values() if set(ends) <= set(family)), tuple(columns))
    first, last = (among.index(end) for end in ends)
    if first < last:
        return among[first : last + 1], []
    finding = f"'{ends[0]}' comes after '{ends[1]}'" if first > last else "both ends are the same column"
    fix = (
        f"Write the first position first: {ends[1]}..{ends[0]}." if first > last else "Name the column alone."
    )
    return (), [Problem("bad-range", f"mapping of {role}", finding, fix)]


def _guess(kind: TableKind, columns: Sequence[str], taken: Mapping[str, str]) -> dict[str, str]:
    free = {plain(column): column for column in reversed(columns) if column not in taken.values()}
    if free.keys().isdisjoint(TRANSLATED):
        free = {name: column for name, column in free.items() if name not in AMBIGUOUS}
    mapping: dict[str, str] = {}
    for role in ROLES[kind]:
        name = next((name for name in names_of(role) if name in free), None)
        if role.name not in taken and name is not None:
            mapping[role.name] = free.pop(name)
    return mapping


def by_position(kind: TableKind, columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Returns the roles of a table without a header, by position.

    The third or fourth column of a run is its rank if its values count 1, 2, 3 … in each list. The third
    column of a test set or training data has the times if its values are times, and the fourth's are not.
    Columns of times order no run and have no predictions, unless all columns look like times: they may be
    large ratings. Such large numbers order a run unless they are times from 2001 to 2033.
    """
    names = POSITIONS.get(kind, ())
    if names[3:] == ("timestamp",) and len(columns) >= 3:
        third, *fourth = (are_times([row[column] for row in rows]) for column in columns[2:4])
        if third and not any(fourth):
            names = (*names[:2], names[3], names[2])
        elif fourth and are_small([row[columns[3]] for row in rows]):
            names = names[:3]
    if kind == "predictions":
        columns = [*columns[:2], *_without_times(columns[2:], rows)]
    mapping = dict(zip(names, columns, strict=False))
    if kind == "run" and len(columns) >= 3:
        others = _without_times(columns[2:4], rows)
        extra = [c for c in others if not are_moments([row[c] for row in rows])]
        rank = next((c for c in extra if _counts_up([row[c] for row in rows])), None)
        score = next((c for c in extra if c != rank), None)
        mapping = {"user_id": columns[0], "item_id": columns[1]}
        mapping |= {"rank": rank} if rank else {}
        mapping |= {"score": score} if score else {}
    return mapping


def _without_times(columns: Sequence[str], rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Returns the columns whose values are not times, or all columns if there are none."""
    others = [column for column in columns if not are_times([row[column] for row in rows])]
    return others or [*columns]


def are_times(values: Iterable[str]) -> bool:
    """Returns True if all values are dates, or numbers that are too large for ratings: seconds since 1970."""
    written = [value.strip() for value in values if value.strip()]
    return bool(written) and all(map(A_TIME.match, written))


def are_moments(values: Iterable[str]) -> bool:
    """Returns True if all values are dates, or times since 1970 in one unit that lie in 2001 to 2033."""
    written = [value.strip() for value in values if value.strip()]
    numbers = [float(value) for value in written if SECONDS.match(value) and not re.match(COMPACT, value)]
    return are_times(written) and are_recent(numbers, UNITS_OF_TIME)


def are_recent(numbers: Sequence[float], units: Sequence[int]) -> bool:
    """Returns True if all numbers are times since 1970 in one of the units, and lie in 2001 to 2033."""
    return any(all(FIRST_SECOND * unit <= n < LAST_SECOND * unit for n in numbers) for unit in units)


def are_dates(values: Iterable[str]) -> bool:
    """Returns True if all values are dates, written with signs."""
    written = [value.strip() for value in values if value.strip()]
    return bool(written) and all(map(A_DATE.match, written))


def are_small(values: Iterable[str]) -> bool:
    """Returns True if all values are numbers that are too small for times."""
    written = [value.strip().replace(",", ".") for value in values if value.strip()]
    return bool(written) and all(A_NUMBER.fullmatch(v) and float(v) < LEAST_TIME for v in written)


def pattern_of(text: str) -> str:
    """Returns the pattern of a text, with 9 for each number: ``movie_12`` gives ``movie_9``."""
    groups = itertools.groupby(text, str.isdecimal)
    return "".join("9" if is_number else "".join(letters) for is_number, letters in groups)


def _counts_up(values: Sequence[str]) -> bool:
    trimmed = [value.strip() for value in values]
    whole = [int(value) for value in trimmed if value.isdecimal() and len(value) < 19]
    follows = [b in (1, a + 1) for a, b in itertools.pairwise(whole)]
    return len(whole) == len(values) > 0 and whole[0] == 1 and all(follows)


def _families(
    kind: TableKind, columns: Sequence[str], known: Mapping[str, str], no_header: bool = False
) -> dict[str, tuple[str, ...]]:
    """Returns label → columns that may have one role together.

    These are numbered columns, or all columns of numbers of a vector.
    """
    if kind not in WIDE_ROLES:
        return {}
    lists_items = WIDE_ROLES[kind].role is ITEM
    if no_header and lists_items:
        listed = tuple(column for column in columns if column != known.get("user_id", columns[0]))
        return {wide_label(listed): listed} if len(listed) > 1 else {}
    item = known.get("item_id") or _guess(kind, columns, {}).get("item_id")
    others = tuple(column for column in columns if column != item or lists_items)
    families = wide_families(others)
    if kind == "vectors" and not families and len(others) > 1:
        families = [] if any(plain(column) in names_of(VECTOR) for column in others) else [others]
    return {wide_label(family): family for family in families}


def wide_families(columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Returns each group of numbered columns, ``rec_1 … rec_n`` or ``1 … n``, in numeric order.

    A group has at least two columns, whose numbers start at 0 or 1 and have no gap.
    """
    stems: dict[str, dict[int, str]] = {}
    for column in columns:
        if match := re.fullmatch(r"(.*?)[ _.\-]?(\d{1,9})", column):
            stems.setdefault(match[1].lower(), {})[int(match[2])] = column
    families = []
    for numbered in stems.values():
        numbers = sorted(numbered)
        is_gapless = numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        if len(numbers) > 1 and numbers[0] in (0, 1) and is_gapless:
            families.append(tuple(numbered[number] for number in numbers))
    return families


def _likely(kind: TableKind, families: Mapping[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Returns the groups of columns that may have the role.

    These are the groups named like it; if there are none and any name is allowed, all groups.
    """
    if kind not in WIDE_ROLES:
        return []
    fitting = [family for family in families.values() if is_called(WIDE_ROLES[kind].role, family[0])]
    return fitting or (list(families.values()) if WIDE_ROLES[kind].any_name else [])


def is_called(role: Role, column: str) -> bool:
    """Returns True if a column's name, without a number at its end, is one of the role's."""
    stem = plain(column).rstrip("0123456789")
    return bool({stem, f"{stem}s"} & set(names_of(role)))


def _which_family(kind: TableKind, likely: Sequence[tuple[str, ...]]) -> list[Problem]:
    """Returns a problem if several groups of numbered columns may be the list of items or the vector."""
    if len(likely) < 2:
        return []
    role, labels = WIDE_ROLES[kind].role.name, [f"'{wide_label(family)}'" for family in likely]
    finding = f"{len(labels)} groups of numbered columns may be {WIDE_ROLES[kind].what}: {listed(labels)}"
    name = {"item_id": "rec"}.get(role, role)
    fix = f"Map {role} to one of them, such as {labels[0]}, or rename its columns {name}_1, {name}_2 …"
    return [Problem("ambiguous-wide", "columns", finding, fix)]


def wide_label(wide: Sequence[str]) -> str:
    """Returns the label of the columns of a wide list, such as ``rec_1 … rec_9``; empty without columns."""
    return f"{wide[0]} … {wide[-1]}" if wide else ""


# ── problems and notices ─────────────────────────────────────────────────────────────────────


def listed(columns: Sequence[str]) -> str:
    """Returns the first ten names as text, shortened, and the number of others."""
    names = ", ".join(name if len(name) <= 40 else name[:39] + "…" for name in columns[:SHOWN])
    return f"{names} and {len(columns) - SHOWN:,} more" if len(columns) > SHOWN else names or "none"


def near(name: str, known: Sequence[str]) -> str:
    """Returns a question that suggests the most similar known name; empty if none is similar."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"Did you mean '{near[0]}'? " if near else ""


def _unknown_roles(kind: TableKind, roles: Sequence[str]) -> list[Problem]:
    known = [role.name for role in ROLES[kind]]
    fix = f"A {kind} table has the roles {listed(known)}."
    return [
        Problem("unknown-role", "mapping", f"no role is called '{name}'", near(name, known) + fix)
        for name in roles
        if name not in known
    ]


def _unknown_columns(columns: Sequence[str], explicit: Mapping[str, str]) -> list[Problem]:
    problems = []
    for role, column in explicit.items():
        if column not in columns:
            finding = f"no column is called '{column}'; found: {listed(columns)}"
            fix = f"{near(column, columns)}Name one of the columns found."
            problems.append(Problem("unknown-column", f"mapping of {role}", finding, fix))
    return problems


def _twice(kind: TableKind, columns: Sequence[str], mapping: Mapping[str, str]) -> list[Problem]:
    """Returns a problem for each duplicate column name that fits an open role.

    The reader numbers such names.
    """
    wanted = {name: role.name for role in ROLES[kind] if role.name not in mapping for name in names_of(role)}
    problems = []
    for name in [column.removesuffix(" (1)") for column in columns if column.endswith(" (1)")]:
        if plain(name) in wanted:
            finding = f"the column '{name}' occurs twice; found: {listed(columns)}"
            fix = f"Remove or rename one, or map {wanted[plain(name)]} to '{name} (1)' or '{name} (2)'."
            problems.append(Problem("duplicate-column", "header", finding, fix))
    return problems


def _missing(
    kind: TableKind,
    columns: Sequence[str],
    mapping: Mapping[str, str],
    open_role: str,
    left_out: Collection[str],
) -> list[Problem]:
    problems = []
    for role in ROLES[kind]:
        name = role.name
        if not role.required or name in mapping or name == open_role:
            continue
        if name in left_out:
            finding = f"{name} is ignored ('{name}=' without a column), but the table needs it"
            fix = f"Write {name}= and one of the columns found: {listed(columns)}."
        else:
            finding = f"no {WORDS.get(name, name)} column; found: {listed(columns)}"
            usual = ", ".join(role.names.split()[:6])
            fix = f"Name it {name}, or map {name} to a column (--columns {name}=…, columns= in Python; "
            fix += f"usual: {usual})."
        problems.append(Problem("missing-column", "columns", finding, fix))
    if kind == "users" and not problems and len(columns) == 1:
        fix = "Add a column for each attribute, such as age or country."
        problems.append(Problem("no-attributes", "columns", f"no column besides '{columns[0]}'", fix))
    if kind == "aggregates" and not _has_moments(columns, mapping):
        finding = (
            "neither n, mean and variance, nor n, sum and sum_squares, nor successes and trials (or n); "
            f"found: {listed(columns)}"
        )
        fix = "Give one of these sets of columns; without a column metric, such as revenue_sum and "
        fix += "revenue_sum_squares for each metric."
        problems.append(Problem("missing-column", "columns", finding, fix))
    if kind == "interleaving" and not any(needed <= set(mapping) for needed in INTERLEAVING_SETS):
        finding = "neither team and clicked, nor rank_a, rank_b and clicked, nor credits; found: "
        fix = "Give team and clicked for each slot, or credit_a and credit_b for each request."
        problems.append(Problem("missing-column", "columns", finding + listed(columns), fix))
    return problems


def _has_moments(columns: Sequence[str], mapping: Mapping[str, str]) -> bool:
    """Returns True if the columns of an aggregated table give the moments of some metric."""
    from recdash.ingest.moment_columns import is_deviation, moment_columns

    roles = {*mapping}
    if "successes" in roles and roles & {"trials", "n"}:
        return True
    if {"n", "mean", "variance"} <= roles:
        return True
    free = [column for column in columns if column not in mapping.values()]
    moments = moment_columns(free, of_one_metric="metric" in roles).values()
    is_varied = any(moment.is_second for moment in moments)
    is_varied = is_varied or ("mean" in roles and any(map(is_deviation, free)))
    return "n" in roles and is_varied


def _notices(
    kind: TableKind,
    mapping: Mapping[str, str],
    wide: tuple[str, ...],
    no_header: bool,
    fixed: Mapping[str, str] | None,
    stated: Collection[str],
) -> list[Problem]:
    """Returns notices about columns that were guessed.

    Columns that have their role's name, are prescribed by the format or are stated by the user get none.
    """
    plainly = {(role, role) for role in mapping} | set((fixed or {}).items())
    guessed = [pair for pair in mapping.items() if pair[0] not in stated]
    pairs_shown = guessed if no_header else [pair for pair in guessed if pair not in plainly]
    pairs = ", ".join(f"{role} = '{column}'" for role, column in pairs_shown)
    notices = []
    if no_header:
        finding = f"no header line; by position {pairs}" if pairs else "no header line"
        notices.append(Problem("no-header", "file", finding, "Change it if wrong." if pairs else ""))
    elif pairs:
        notices.append(Problem("columns-guessed", "columns", f"read as {pairs}", "Change it if wrong."))
    if wide:
        finding = f"wide table: {wide_label(wide)} are {WIDE_ROLES[kind].says.format(n=len(wide))}"
        notices.append(Problem("wide-table", "columns", finding, ""))
    return notices
