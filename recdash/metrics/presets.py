"""Presets: conventions of libraries and textbooks for metric parameters, population, order and ties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from recdash.domain.kinds import Duplicates, Order, Ties, Users
from recdash.errors import UnknownName
from recdash.metrics.registry import METRICS, named
from recdash.metrics.spec import Spec, parse, split


@dataclass(frozen=True)
class Preset:
    """The conventions of one library that differ from recdash's defaults.

    ``parameters`` maps a metric's name to the values of its parameters.
    """

    name: str
    title: str
    parameters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    users: Users = "truth"
    order: Order | None = None
    ties: Ties = "file"
    duplicates: Duplicates = "first"
    relevance: str | None = None
    """Name of the truth's relevance column; "none" if every row is relevant; None for the usual column."""
    threshold: float | None = None
    why: str = ""

    def apply(self, spec: Spec) -> Spec:
        """Returns the spec with the preset's parameters added, including those of metrics named inside it.

        Parameters written in the spec take precedence.
        """
        spec = named(spec)
        parameters = dict(spec.parameters)
        for knob in METRICS[spec.name].parameters:
            if knob.kind == "metrics":
                parts = split(parameters.get(knob.name, knob.default or ""))
                parameters[knob.name] = ",".join(str(self.apply(parse(part))) for part in parts)
        preset = self.parameters.get(spec.name, {})
        return replace(spec, parameters=tuple({**preset, **parameters}.items()))


EVERY_ROW = "none"
"""Stands for no relevance column: every row of the truth is relevant."""

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "default", "recdash", why="Every user with a relevant item counts; one without a list scores 0."
        ),
        Preset(
            "trec_eval",
            "trec_eval",
            {"ndcg": {"grades": "all"}},
            users="judged_both",
            order="score",
            ties="item_desc",
            threshold=1.0,
            why="Averages over users with a list and any row in the test set; one without a relevant item "
            "counts as 0. Lists are ordered by score, then by id descending. A grade below 1, or below "
            "the threshold (-l), is not relevant, but still adds gain in nDCG.",
        ),
        Preset(
            "rectools",
            "RecTools",
            {
                "ndcg": {"gain": "binary", "ideal": "full"},
                "serendipity": {"over": "list", "users": "run"},
                "coverage": {"of": "catalogue"},
            },
            relevance=EVERY_ROW,
            why="The ideal list of nDCG fills all k positions, even if the user has fewer relevant items. "
            "Grades are ignored: every test row is relevant.",
        ),
        Preset(
            "recommenders",
            "Microsoft Recommenders",
            {
                "ndcg": {"gain": "binary", "users": "truth"},
                "map": {"norm": "min"},
                "coverage": {"of": "train", "counted": "every"},
                "novelty": {"share": "rows", "unseen": "zero", "over": "places"},
            },
            users="both",
            relevance=EVERY_ROW,
            why="Only users in both tables count; for nDCG all users of the test set count. MAP@k divides by "
            "min(m, k). Grades are ignored.",
        ),
        Preset(
            "ranx",
            "ranx",
            {"rbp": {"gain": "linear"}},
            users="judged",
            threshold=1.0,
            why="The default definitions, but a grade below 1 is not relevant. Users without a list count "
            "as 0, and so do users with only such grades.",
        ),
        Preset(
            "recbole",
            "RecBole",
            {
                "ndcg": {"gain": "binary"},
                "map": {"norm": "min"},
                "entropy": {"log": "e", "norm": "shown"},
            },
            relevance=EVERY_ROW,
            why="Binary relevance. MAP@k divides by min(m, k). Entropy is in nats, divided by the number of "
            "items shown. The tail is exactly a tenth of the items, equally rare ones ordered by id; recdash "
            "keeps equally rare items together.",
        ),
        Preset(
            "lenskit",
            "LensKit",
            {
                "ndcg": {"gain": "binary", "discount": "lenskit"},
                "dcg": {"gain": "binary", "discount": "lenskit"},
                "precision": {"over": "list"},
                "recall": {"norm": "min"},
                "map": {"norm": "list", "users": "both"},
                "rbp": {"p": "0.85"},
            },
            users="run",
            relevance=EVERY_ROW,
            why="Ranks 1 and 2 weigh the same in nDCG. Precision and average precision divide by the "
            "length of the list, recall by min(m, k). Every user with a list counts; one without a "
            "relevant item counts as 0. For average precision a user needs both.",
        ),
        Preset(
            "replay",
            "RePlay",
            {
                "ndcg": {"gain": "binary"},
                "map": {"norm": "min"},
                "novelty": {"over": "k", "norm": "max"},
                "coverage": {"of": "train"},
            },
            relevance=EVERY_ROW,
            why="Binary relevance. MAP@k divides by min(m, k). Its Surprisal is novelty here, between 0 "
            "and 1; for a short list too the sum is divided by k.",
        ),
        Preset(
            "torchmetrics",
            "TorchMetrics",
            {"map": {"norm": "hits"}, "auc": {"without_miss": "0"}},
            users="run",
            why="Average precision is the mean over the hits found. TorchMetrics treats scores of 0 or "
            "less as not retrieved; recdash uses only their order. TorchMetrics computes in single "
            "precision.",
        ),
        Preset(
            "cornac",
            "Cornac",
            {"ndcg": {"gain": "binary"}, "ncrr": {"ideal": "list"}},
            why="Binary relevance. The ideal list of NCRR is as long as the list.",
        ),
        Preset(
            "elliot",
            "Elliot",
            {"ndcg": {"gain": "exp"}, "novelty": {"share": "rows"}, "gini": {"norm": "n-1"}},
            users="both",
            why="Users with a list and a relevant item count. nDCG has exponential gain. From the library's "
            "source code; the library was not run.",
        ),
        Preset(
            "recpack",
            "RecPack",
            {"ndcg": {"gain": "binary"}, "dcg": {"gain": "binary"}, "coverage": {"users": "truth"}},
            why="Binary relevance; every user with a relevant item counts.",
        ),
        Preset(
            "ir_measures",
            "ir-measures",
            {"err": {"max_grade": "4"}, "judged": {"over": "list"}},
            users="judged",
            order="score",
            ties="item_desc",
            threshold=1.0,
            why="The measures of trec_eval, over every user of the test set. The largest grade of ERR is 4. "
            "Judged divides by the length of the list.",
        ),
        Preset(
            "evidently",
            "Evidently",
            {
                "precision": {"over": "list"},
                "f1": {"average": "means"},
                "mar": {"form": "relevant"},
                "novelty": {"unseen": "drop"},
                "personalization": {"distance": "hamming"},
                "coverage": {"of": "train"},
                "popularity": {"unseen": "drop"},
                "gini": {"items": "shown", "norm": "n-1"},
            },
            why="F-beta combines mean precision and mean recall. MAR sums the recalls at the hits. "
            "Personalization is one minus the overlap divided by k. Items outside the training data have no "
            "novelty.",
        ),
        Preset(
            "sklearn",
            "scikit-learn",
            why="nDCG and DCG with grades as gains, and errors of predicted ratings. scikit-learn leaves the "
            "choice of users to the caller; here every user with a relevant item counts.",
        ),
        Preset(
            "capri",
            "CAPRI",
            {
                "precision": {"over": "list"},
                "map": {"norm": "min"},
                "ndcg": {"gain": "exp", "ideal": "all"},
                "novelty": {"unseen": "zero"},
                "coverage": {"of": "train", "counted": "every"},
                "diversity": {"by": "similarity"},
            },
            users="both",
            relevance=EVERY_ROW,
            why="The ideal list of nDCG has all m relevant items, whatever k is. Unseen items add no "
            "novelty. Coverage counts the items of the training data. CAPRI rounds each user's nDCG to "
            "four digits, recdash does not.",
        ),
        Preset(
            "seed000",
            "Offline metrics tutorial",
            {"map": {"norm": "hits"}, "f1": {"average": "users"}},
            why="Average precision is the mean over the hits found, not over the relevant items.",
        ),
        Preset(
            "seed002",
            "Ranking metrics notes",
            {
                "mrr": {"sum": "all"},
                "map": {"norm": "none"},
                "precision": {"average": "micro", "truth": "best"},
                "recall": {"average": "micro", "truth": "best"},
            },
            why="Reciprocal ranks and precisions at hits are summed. Precision and recall pool all users and "
            "count only the k most relevant test items of each user.",
        ),
    )
}


def preset(name: str) -> Preset:
    """Returns the preset of this name.

    Raises UnknownName, which lists the known names and the nearest one.
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise UnknownName("preset", name, list(PRESETS))
    return PRESETS[name]
