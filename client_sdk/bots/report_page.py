"""The report of a run as one page that needs nothing but itself: no script, no font, no picture from elsewhere.

Every text that came from outside (a table's id, a finding) is escaped. Pure. Read next: `plots`.
"""

from html import escape
from typing import Final

from client_sdk.bots.histogram import Histogram
from client_sdk.bots.orders import Orders
from client_sdk.bots.plots import Line, bars, lines
from client_sdk.bots.report import DETAILS_MAX, Tally, verdict_of
from client_sdk.bots.timeline import Timeline

_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 760px; margin: 2em auto; padding: 0 1em; color: #1d2a24; }
table { border-collapse: collapse; } td, th { padding: .15em 1em .15em 0; text-align: right; }
td:first-child, th:first-child { text-align: left; } figure { margin: 1.5em 0; } figcaption { font-weight: 600; }
svg { width: 100%; height: auto; } svg text { font: 11px system-ui, sans-serif; } .area { fill: #f4f6f5; }
.grid { stroke: #d4dbd7; } .verdict { font-size: 1.3em; } .bad { color: #a4243b; } pre { white-space: pre-wrap; }
"""


def as_page(tally: Tally, orders: Orders) -> str:
    """Return the whole page."""
    verdict = verdict_of(tally)
    heading = f"{tally.finished} of {tally.patrons} patrons finished at {tally.tables} tables in {tally.seconds:.1f} s"
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>punto bots</title>',
        f"<style>{_STYLE}</style></head><body><h1>punto bots</h1>",
        f'<p class="verdict{"" if tally.is_clean else " bad"}">{escape(verdict)}</p>',
        f"<p>{escape(heading)}; {tally.processes} processes, seed {escape(orders.seed)}</p>",
        _counts(tally),
        _percentiles(tally),
        lines("Act to answer over time", "s", "ms", _percentile_lines(tally.ack_timeline)),
        bars("Act to answer: how often", tally.ack_ms),
        lines("Seat to seat over time: from the first seat that gets a card to the last", "s", "ms",
              _percentile_lines(tally.skew_timeline)),
        bars("Seat to seat: how often", tally.skew_ms),
        _listed("Refusals, foreseen ones too", [f"{name} {count}" for name, count in tally.refusals.most_common()]),
        _listed("Killed meanwhile", tally.kills),
        _listed("Mismatches", [str(mismatch) for mismatch in tally.details]),
        _listed("Failures", tally.failures[:DETAILS_MAX]),
        "</body></html>\n",
    ]  # fmt: skip
    return "\n".join(part for part in parts if part)


def _counts(tally: Tally) -> str:
    seconds = max(tally.seconds, 0.001)
    rows = {
        "rounds checked": tally.rounds,
        "bets settled": tally.bets,
        "acts accepted": tally.acks,
        "acts refused": tally.refusals.total(),
        "acts without an answer": tally.unanswered,
        "acts a second": f"{tally.acts / seconds:.0f}",
        "events": tally.events,
        "events a second": f"{tally.events / seconds:.0f}",
        "reconnects": tally.reconnects,
        "lost acks": tally.lost_acks,
        "mismatches": tally.mismatches,
    }
    inside = "".join(f"<tr><td>{escape(name)}</td><td>{escape(str(value))}</td></tr>" for name, value in rows.items())
    return f"<table>{inside}</table>"


def _percentiles(tally: Tally) -> str:
    rows: list[tuple[str, Histogram]] = [("act to answer", tally.ack_ms), ("seat to seat", tally.skew_ms)]
    head = "<tr><th>ms</th>" + "".join(f"<th>{name}</th>" for name in Histogram().summary()) + "</tr>"
    inside = "".join(
        f"<tr><td>{name}</td>" + "".join(f"<td>{value:.1f}</td>" for value in histogram.summary().values()) + "</tr>"
        for name, histogram in rows
    )
    return f"<table>{head}{inside}</table>"


def _percentile_lines(timeline: Timeline) -> list[Line]:
    slots = list(timeline)
    return [
        Line(f"p{percent}", [(at_s, histogram.percentile_ms(percent)) for at_s, histogram in slots])
        for percent in (50, 95, 99)
    ]


def _listed(title: str, items: list[str]) -> str:
    if not items:
        return ""
    inside = "\n".join(escape(item) for item in items)
    return f"<h2>{escape(title)}</h2><pre>{inside}</pre>"
