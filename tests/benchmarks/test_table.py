"""The table of the benchmarks: what is compared with what, and which work stands behind a row."""

from pathlib import Path

import pytest

from benchmarks import run
from benchmarks.rows import ROWS, SCALE

WORK = Path(run.__file__).with_name("work")
BY_NAME = {row.name: row for row in ROWS}


def checks(name, **figures):
    row = BY_NAME[name]
    return run._result(row, {peer: {row.metric: value} for peer, value in figures.items()})[
        "checks"
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_has_its_work(row):
    source = (WORK / f"{row.module.partition(':')[0]}.py").read_text()
    assert "def measure(" in source
    assert ("def measure_jax(" in source) == row.jax
    assert row.unit in SCALE


def test_the_better_tensorflow_counts():
    (check,) = checks("scalar", weft=20.0, tf1=100.0, tf2=160.0)
    assert check == {"peer": "better", "limit": 0.25, "ratio": 0.2, "ok": True}


def test_a_miss_is_said():
    (check,) = checks("cnn", weft=3.0, tf1=2.0, tf2=2.0)
    assert not check["ok"]


def test_one_row_may_have_two_bounds():
    better, jax = checks("mlp", weft=300.0, tf1=600.0, tf2=500.0, jax=200.0)
    assert better["ok"]
    assert not jax["ok"]


def test_a_peer_that_is_not_there_gives_no_verdict():
    assert checks("fresh", weft=0.3, tf2=2.0) == []
    assert checks("scalar", tf1=1.0) == []


def test_rows_are_chosen_by_name_or_by_part_of_it():
    assert [row.name for row in run._chosen(["mlp"])] == ["mlp"]
    assert [row.name for row in run._chosen(["lstm", "lstm_first"])] == ["lstm_first", "lstm_later"]
    with pytest.raises(SystemExit, match="no row 'lstmm'"):
        run._chosen(["lstmm"])
