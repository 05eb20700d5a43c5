"""Coefficients are learned from measurements: of this machine, the newest, without outliers, and only if better."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from advisor.learning import FEWEST, MOST_ALIKE, Learned, learn, pages_of, usable, write
from advisor.page_model import PageCosts, Quantities, seconds_of
from advisor.recommend import recommend
from profiles.coefficients import (
    FILE,
    SHIPPED,
    Coefficients,
    machine_profile,
    page_costs,
    prior_profile,
    save,
    this_machine,
)
from profiles.measurements import Measurement, append
from profiles.sources import all_statistics
from profiles.workload import Workload
from tests.advisor.test_calibrate import run
from tests.advisor.workloads import NAMED, PER_CUSTOMER, URGENT, workload

NOW = 2_000_000_000.0
DAY = 86_400.0
TWICE_AS_SLOW = Coefficients(**{name: 2 * value for name, value in asdict(SHIPPED["sail"]).items()})
VIEWS = {"urgent": URGENT, "named": NAMED, "per_customer": PER_CUSTOMER}


def measured(
    true: Coefficients = TWICE_AS_SLOW, count: int = 90, seed: int = 1, noise: float = 0.05, days_ago: float = 0.0
) -> list[Measurement]:
    """Refreshes and reads of three views whose times follow from some coefficients, each off by a little."""
    chance = np.random.default_rng(seed)
    found = []
    for number in range(count):
        view, read = list(VIEWS)[number % 3], number % 2 == 0
        quantities = {
            "statements": float(chance.integers(1, 3)),
            "jobs": float(chance.integers(1, 6)),
            "reads": float(chance.integers(1, 4)),
            "rows_read": float(10 ** chance.uniform(3, 7)),
            "commits": 0.0 if read else 2.0,
            "rows_written": 0.0 if read else float(10 ** chance.uniform(1, 5)),
        }
        seconds = sum(getattr(true, name) * amount for name, amount in quantities.items())
        found.append(
            Measurement(
                NOW - days_ago * DAY - number,
                "run",
                "c1",
                "query" if read else "refresh",
                view,
                seconds * math.exp(noise * chance.standard_normal()),
                "sail",
                "Sail 0.7.2",
                this_machine(),
                strategy="immediate",
                planned="counting",
                ran="stored" if read else "counting",
                filter=str(number),
                predicted_seconds=seconds / 2,
                predicted=quantities,
            )
        )
    return found


def learned(folder: Path, runs: list[Measurement]) -> Learned:
    return learn(folder, runs, "sail", now=NOW)


def test_coefficients_follow_the_measurements_and_are_saved(tmp_path: Path) -> None:
    found = learned(tmp_path, measured())
    assert found.fit.fitted
    assert found.after.coefficients.jobs == pytest.approx(TWICE_AS_SLOW.jobs, rel=0.25)
    assert found.after.coefficients.rows_read == pytest.approx(TWICE_AS_SLOW.rows_read, rel=0.25)
    assert found.after.coefficients.sessions == SHIPPED["sail"].sessions
    assert found.fit.error_before == pytest.approx(2, rel=0.1)
    assert found.fit.error_unseen < 1.1
    write(found, tmp_path)
    here = machine_profile(tmp_path / ".advisor", "sail")
    assert here.measured
    assert here.coefficients.jobs == pytest.approx(found.after.coefficients.jobs, rel=1e-3)
    assert not prior_profile(tmp_path / ".advisor", "sail").measured


def test_learning_again_from_the_same_runs_changes_nothing(tmp_path: Path) -> None:
    write(learned(tmp_path, measured()), tmp_path)
    saved = (tmp_path / ".advisor" / FILE).read_bytes()
    again = learned(tmp_path, measured())
    write(again, tmp_path)
    first, now = (json.loads(each)["profiles"] for each in (saved, (tmp_path / ".advisor" / FILE).read_bytes()))
    for key, values in first.items():
        assert now[key] == pytest.approx(values, rel=0.01)


def test_the_microbenchmark_stays_the_prior(tmp_path: Path) -> None:
    here = tmp_path / ".advisor"
    here.mkdir()
    micro = replace(machine_profile(here, "sail"), coefficients=replace(SHIPPED["sail"], shuffles=7.0), measured=True)
    (here / FILE).write_text(save(here, micro, prior=True), encoding="utf-8")
    for _ in range(2):
        write(learned(tmp_path, measured()), tmp_path)
    assert prior_profile(here, "sail").coefficients == micro.coefficients
    assert machine_profile(here, "sail").coefficients.jobs > 1.5 * SHIPPED["sail"].jobs
    assert machine_profile(here, "sail").coefficients.shuffles == pytest.approx(7, rel=1e-3)  # no run has any


def test_recent_runs_weigh_more(tmp_path: Path) -> None:
    """The machine became twice as fast as shipped; what it took a quarter of a year ago hardly matters."""
    fast = Coefficients(**{name: value / 2 for name, value in asdict(SHIPPED["sail"]).items()})
    found = learned(tmp_path, measured(days_ago=90) + measured(fast, seed=2))
    assert found.after.coefficients.jobs == pytest.approx(fast.jobs, rel=0.35)


def test_outliers_do_not_decide(tmp_path: Path) -> None:
    runs = measured()
    odd = [replace(m, seconds=60 * (m.seconds or 0)) if n in (3, 40, 77) else m for n, m in enumerate(runs)]
    plain, disturbed = (learned(tmp_path, each).after.coefficients for each in (runs, odd))
    assert disturbed.jobs == pytest.approx(plain.jobs, rel=0.15)


def test_coefficients_that_are_right_stay(tmp_path: Path) -> None:
    found = learned(tmp_path, measured(SHIPPED["sail"], noise=0.0))
    assert found.after == found.before
    assert not write(found, tmp_path).exists()


@pytest.mark.parametrize(
    "other",
    [{"engine": "spark"}, {"machine": "96 cores riscv"}, {"error": "failed"}, {"seconds": None}, {"predicted": {}}],
)
def test_what_tells_nothing_about_this_machine_is_left_out(tmp_path: Path, other: dict[str, Any]) -> None:
    found = learned(tmp_path, [replace(m, **other) for m in measured()])
    assert (list(found.runs), found.after) == ([], found.before)


def test_from_a_handful_of_runs_nothing_is_learned(tmp_path: Path) -> None:
    found = learned(tmp_path, measured(count=FEWEST - 1))
    assert found.after == found.before


def test_of_like_runs_the_newest_count() -> None:
    same = [replace(measured()[0], at=NOW + n) for n in range(5 * MOST_ALIKE)]
    kept = list(usable(same, "sail"))
    assert len(kept) == MOST_ALIKE
    assert min(m.at for m in kept) == NOW + 4 * MOST_ALIKE


# The page model


def three_views(folder: Path) -> Workload:
    rates = "queries: {per_day: 100, fraction: 0.1}"
    return workload(folder, *(f"{name}: {{sql: {sql!r}, {rates}}}" for name, sql in VIEWS.items()))


TRUE_PAGES = PageCosts(C1=2e-4, C2=3.0, C3=1e-3)


def paged(shop: Workload) -> list[Measurement]:
    """Runs that take what the page model says of a machine with other constants."""
    gathered, found = pages_of(shop, all_statistics(shop)), []
    for each in measured(count=60, noise=0.0):
        view = gathered[each.subject]
        model = replace(view.model, page_costs=TRUE_PAGES)
        q = Quantities(**{name: estimate.value for name, estimate in view.estimates.items()})
        step = "read" if each.kind == "query" else "update"
        seconds = seconds_of(model, q, f"immediate/{model.incremental}", step)
        found.append(replace(each, seconds=seconds))
    return found


def test_the_constants_of_1987_are_learned_in_the_same_way(tmp_path: Path) -> None:
    shop = three_views(tmp_path)
    gathered = pages_of(shop, all_statistics(shop))
    assert gathered.keys() == VIEWS.keys()
    found = learn(tmp_path, paged(shop), "sail", gathered, NOW)
    assert found.pages is not None
    assert found.pages.fitted
    assert found.pages.error_unseen < found.pages.error_before
    assert all(value > 0 for value in found.pages.coefficients.values())
    write(found, tmp_path)
    costs = page_costs(tmp_path / ".advisor", "sail")
    assert costs == pytest.approx(found.pages.coefficients, rel=1e-3)


def test_the_page_model_prices_with_what_was_learned(tmp_path: Path) -> None:
    shop = replace(three_views(tmp_path), engine=three_views(tmp_path).engine.model_copy(update={"kind": "sail"}))
    before = recommend(shop, model="hanson")
    assert "page_costs" not in before.as_json()
    write(learn(tmp_path, paged(shop), "sail", pages_of(shop, all_statistics(shop)), NOW), tmp_path)
    after = recommend(shop, model="hanson")
    assert after.as_json()["page_costs"] == page_costs(tmp_path / ".advisor", "sail")
    for view in VIEWS:
        assert after.views[view].seconds < before.views[view].seconds / 10  # no disk of 1987


# The command


def test_calibrate_learns_from_the_warehouse_and_says_what_that_changed(tmp_path: Path) -> None:
    shop = three_views(tmp_path)
    text = "engine: sail\n" + shop.file.read_text(encoding="utf-8")
    shop.file.write_text(text, encoding="utf-8")
    code, out, err = run("calibrate", shop.file)
    assert (code, out) == (2, "")
    assert "0 runs by sail on this machine, too few to learn from; advisor run W --days 1" in err
    append(shop.warehouse, measured())
    code, out, err = run("calibrate", shop.file)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == f"sail · {this_machine()} · 90 runs"
    assert re.search(r"the shipped coefficients predict half of these runs within a factor of (1.9|2.0)", out)
    assert "page model: C1 " in out
    code, out, _ = run("calibrate", shop.file, "--json")
    answer = json.loads(out)
    assert (code, answer["machine"], len(answer["runs"])) == (0, this_machine(), 90)
    assert answer["errors"]["before"] < 1.1  # those of the first time are in force now
    assert answer["page_costs"].keys() == {"C1", "C2", "C3", "fitted", "before", "unseen"}


def test_measurements_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    shop = three_views(tmp_path)
    append(shop.warehouse, measured())
    for data in (shop.warehouse / "_advisor" / "measurements").glob("*.parquet"):
        data.write_text("no Parquet")
    code, out, err = run("calibrate", shop.file)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "measurements cannot be read" in err
