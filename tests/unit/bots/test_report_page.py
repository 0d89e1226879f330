"""The report as a page: whole, escaped, and in need of nothing from elsewhere."""

import re
from xml.etree import ElementTree

from client_sdk.bots.findings import Kind, Mismatch
from client_sdk.bots.orders import Orders
from client_sdk.bots.report import Tally
from client_sdk.bots.report_page import as_page

EVIL = '<script>alert("1")</script>&'


def page_of(tally: Tally) -> str:
    return as_page(tally, Orders(url="ws://127.0.0.1:9", patrons=2, rounds=1, seed=EVIL))


def test_the_plots_are_there_and_every_text_is_escaped() -> None:
    tally = Tally(patrons=2, finished=2, tables=1, seconds=3.0)
    for at_s in range(3):
        tally.answered(at_s, at_s + 0.005 * (at_s + 1))
    tally.refusals[EVIL] += 1
    tally.kills.append(EVIL)
    tally.failures.append(EVIL)
    tally.add([Mismatch(Kind.CARD, EVIL, 1, EVIL)])
    page = page_of(tally)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r"https?:|src=|href=|@import|url\(", page)
    plots = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(plots) == 4
    for plot in plots:
        ElementTree.fromstring(plot)
    assert len(re.findall("<polyline", plots[0])) == 3
    assert "NOT CLEAN" in page


def test_a_run_in_which_nothing_was_measured_has_a_page_too() -> None:
    assert "every check held" in page_of(Tally(patrons=2, finished=2))
