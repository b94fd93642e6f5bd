"""The simulation of clusters: against sums that can be made by hand, and what must hold whatever the costs."""

import dataclasses

import pytest

from tools import scaling
from tools.scaling import GRPC, LINK, MODELS, Model, steps_per_second


@pytest.mark.parametrize("costs", [LINK, GRPC])
def test_one_worker_takes_the_time_of_its_pieces(costs):
    model = Model(5e6, 8e-3)
    messages = 6 if costs.asks else 4
    seconds = (
        costs.step
        + messages * (2 * costs.message + costs.latency)
        + 2 * model.bytes * (2 * costs.byte + 1 / costs.line)
        + model.bytes * costs.update
        + model.compute / 8
    )
    assert steps_per_second(model, costs, 1, 1).rate == pytest.approx(1 / seconds, rel=0.05)


def test_the_line_of_one_server_is_what_ends_growth_and_more_servers_move_it():
    costs = dataclasses.replace(GRPC, line=1e9)
    one, four = (steps_per_second(MODELS["large"], costs, 16, n) for n in (1, 4))
    assert one.bottleneck.startswith("line") and one.load > 0.9
    assert one.rate <= 1e9 / MODELS["large"].bytes * 1.02
    assert 3 * one.rate < four.rate <= 4.1 * one.rate


def test_what_is_small_is_held_up_by_messages():
    found = steps_per_second(MODELS["small"], GRPC, 16, 4)
    assert found.bottleneck == "Python of a ps"
    # Six messages go in or out of each server in each step.
    assert found.rate == pytest.approx(1 / (6 * GRPC.message), rel=0.1)


def test_workers_who_wait_for_each_other_are_not_quicker():
    model, costs = MODELS["large"], LINK
    alone, together = (steps_per_second(model, costs, 8, 2, sync=s).rate for s in (False, True))
    assert 0.3 * alone < together <= 1.02 * alone


def test_the_table_is_printed(capsys, monkeypatch):
    monkeypatch.setattr(
        "sys.argv", ["scaling", "--workers", "1", "2", "--servers", "1", "--costs", "link"]
    )
    scaling.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[2].split()[0] == "2"
    assert int(lines[2].split()[1]) > int(lines[1].split()[1])
