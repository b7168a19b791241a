"""A marimo notebook: ``marimo edit docs/notebooks/judge_ab_test.py`` opens it."""

import marimo

__generated_with = "0.25.2"
app = marimo.App()


@app.cell
def _():
    import marimo as mo
    import pandas as pd

    import recdash

    return mo, pd, recdash


@app.cell
def _(mo):
    mo.md("""
    # Judge an A/B test

    Half of the users saw the new recommender, B. Is the test valid, did B raise conversion, and what
    did it do to visits?

    The table below is made up, so that every number can be checked by hand: one row per user. Use your
    own instead: a data frame, or a path to a CSV or Parquet file.
    """)


@app.cell
def _(pd):
    converted = {"A": 200, "B": 260}
    users = pd.DataFrame(
        [
            (f"{variant}{user}", variant, int(user < converted[variant]), 1 + user % 4)
            for variant in converted
            for user in range(2_000)
        ],
        columns=["user_id", "variant", "converted", "visits"],
    )
    users.groupby("variant")[["converted", "visits"]].sum()
    return (users,)


@app.cell
def _(mo):
    mo.md("""
    ## Is the test valid?

    A p-value below 0.001 would be a sample ratio mismatch: users are missing from one variant, and no
    result of the test can be trusted.
    """)


@app.cell
def _(recdash, users):
    test = recdash.ab_test(sessions=users, control="A")
    srm_p = test.health.srm_p
    srm_p
    return srm_p, test


@app.cell
def _(mo):
    mo.md("""
    ## What did B change?

    The lift is the change as a share of the value of A. The intervals here and in the figure are
    corrected for the number of metrics (Holm): if B changes nothing, one of them is significant in at
    most 5 % of all tests.
    """)


@app.cell
def _(test):
    test


@app.cell
def _(test):
    results = test.table(all_columns=True).query("not is_control").set_index("metric")
    results[["lift", "corrected_low", "corrected_high", "p", "p_corrected", "word"]]
    return (results,)


@app.cell
def _(test):
    figure = test.plot()
    figure
    return (figure,)


@app.cell
def _(mo):
    mo.md("""
    ## How sure is that?

    The chance to win is the probability that B is better, and the expected loss is what B costs if it
    is not.
    """)


@app.cell
def _(test):
    chances = test.chance_to_win()
    chances
    return (chances,)


@app.cell
def _(mo):
    mo.md("""
    ## May it be stopped early?

    The always-valid interval holds however often you look. It is wider: here it contains 0, so a team
    that looks at the test every day cannot stop it yet.
    """)


@app.cell
def _(results):
    always_valid = results[["sequence_low", "sequence_high"]]
    always_valid
    return (always_valid,)


if __name__ == "__main__":
    app.run()
