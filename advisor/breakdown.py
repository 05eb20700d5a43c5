"""What a view's printed cost is made of: every step's quantities, coefficients and products, and their sum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from advisor.offers import Item, Offer
from advisor.proposal import Proposal, rounded
from advisor.wording import label
from costmodels.axis import CENTRE
from costmodels.spark import prices_of
from profiles.coefficients import MachineProfile
from profiles.words import duration, number


def cost_text(proposal: Proposal, view: str, candidate: str | None = None) -> str:
    """The cost of one candidate, the chosen one unless another is named, step by step."""
    chosen = proposal.views[view]
    name = candidate or chosen.candidate
    offer = chosen.offers.offers[name]
    note = "" if name == chosen.candidate else f"; chosen was {label(chosen.candidate)}"
    lines = [f"{view}: {label(name)}, {seconds_text(offer.a_day)} a day{note}"]
    if offer.declared:
        lines += ["  declared in the workload as what today takes; by the model:"]
    for item in offer.items:
        lines += ["", *_item_lines(item, proposal.machine)]
    if offer.others:
        lines += ["", f"what it changes in the views that it is connected with: {seconds_text(offer.others)} a day"]
    lines += ["", f"sum of the model: {seconds_text(_sum(offer))} a day"]
    lines += [f"building it once: {duration(offer.build_seconds)}"] if offer.build_seconds else []
    others = sorted((o.a_day, c) for c, o in chosen.offers.offers.items() if c != name)
    lines += ["", "other candidates"]
    lines += [f"  {seconds_text(cost):>12} a day  {c}{_why_not(chosen.excluded.get(c))}" for cost, c in others]
    return "\n".join(lines)


def _item_lines(item: Item, machine: MachineProfile | None) -> Iterator[str]:
    times, each = float(item.times[CENTRE]), float(item.seconds[CENTRE])
    yield f"{item.what}: {number(times)} a day × {seconds_text(each)} = {seconds_text(times * each)} a day"
    if machine is None:
        return
    prices = prices_of(machine)
    for what, work in item.steps:
        parts = work.parts(prices)
        yield f"  {what}: {seconds_text(sum(product for _, _, product in parts.values()))}"
        for name, (amount, price, product) in parts.items():
            yield f"    {name:<14} {amount:>14,.1f} × {price:<9.3g} s = {seconds_text(product)}"


def cost_json(proposal: Proposal, view: str) -> dict[str, Any]:
    """The same for scripts, of every candidate."""
    chosen = proposal.views[view]
    prices = prices_of(proposal.machine) if proposal.machine is not None else {}

    def item_json(item: Item) -> dict[str, Any]:
        return {
            "what": item.what,
            "times_a_day": rounded(float(item.times[CENTRE])),
            "seconds": float(item.seconds[CENTRE]),
            "steps": [
                {
                    "what": what,
                    "quantities": {
                        name: {"amount": amount, "coefficient": price, "seconds": product}
                        for name, (amount, price, product) in work.parts(prices).items()
                    },
                }
                for what, work in item.steps
            ],
        }

    return {
        "view": view,
        "chosen": chosen.candidate,
        "candidates": {
            name: {
                "seconds_a_day": offer.a_day,
                "declared": offer.declared,
                "in_other_views": offer.others,
                "items": [item_json(item) for item in offer.items],
                "build_seconds": rounded(offer.build_seconds),
                "excluded": chosen.excluded.get(name),
            }
            for name, offer in chosen.offers.offers.items()
        },
    }


def _sum(offer: Offer) -> float:
    """What the items come to, with what is changed elsewhere: the printed cost, unless that was declared."""
    return sum(float((item.times * item.seconds)[CENTRE]) for item in offer.items) + offer.others


def _why_not(why: str | None) -> str:
    return f"  ({why})" if why else ""


def seconds_text(seconds: float) -> str:
    """
    >>> seconds_text(61.234), seconds_text(0.0123), seconds_text(0)
    ('61.23 s', '12.3 ms', '0 s')
    """
    if seconds == 0:
        return "0 s"
    if abs(seconds) < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:,.2f} s"
