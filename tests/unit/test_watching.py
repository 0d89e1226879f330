"""The alert rules and the dashboard ask for metrics that exist, with labels that they have, and the runbook answers
each alert. Metrics have no label that a stranger could fill with names without end."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import REGISTRY
from prometheus_client.metrics import MetricWrapperBase

from client_sdk.protocol.errors import CloseCode, ErrorCode
from server import metrics

ROOT = Path(__file__).resolve().parents[2]
GROUPS: list[dict[str, Any]] = yaml.safe_load((ROOT / "deploy" / "alerts.yml").read_text())["groups"]
RULES: list[dict[str, Any]] = [rule for group in GROUPS for rule in group["rules"]]
DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy" / "grafana-dashboard.json").read_text())
EXPRESSIONS = [
    *((rule["alert"], rule["expr"]) for rule in RULES),
    *((panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]),
]
FUNCTIONS = {
    *("abs", "absent", "histogram_quantile", "increase", "max", "min", "min_over_time", "rate", "sum", "time"),
    *("by", "and", "or"),
}
LABELS_OF_PROMETHEUS = {"job", "instance", "le"}


def families() -> dict[str, set[str]]:
    """Every name that a scrape gives for our metrics -> its labels."""
    found: dict[str, set[str]] = {}
    for name, value in vars(metrics).items():
        if name.isupper() and isinstance(value, MetricWrapperBase):
            labels = set(value._labelnames)
            for family in value.describe():
                suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(family.type, ("",))
                found |= {f"{family.name}{suffix}": labels for suffix in suffixes}
    return found


FAMILIES = families()


def balanced(expression: str) -> bool:
    """Whether every bracket is closed by its like."""
    left = re.sub(r'"[^"]*"', "", expression)
    while (shorter := re.sub(r"\(\)|\[\]|\{\}", "", re.sub(r"[^()\[\]{}]", "", left))) != left:
        left = shorter
    return not left


@pytest.mark.parametrize(("where", "expression"), EXPRESSIONS)
def test_every_expression_asks_for_what_exists(where: str, expression: str) -> None:
    assert balanced(expression), expression
    bare = re.sub(r'"[^"]*"|\[[^\]]*\]', "", expression)
    labels = {word for group in re.findall(r"\bby \(([^)]*)\)", bare) for word in re.split(r",\s*", group)}
    labels |= set(re.findall(r"(\w+)\s*(?:!=|=~|!~|=)(?!=)", bare))
    words = set(re.findall(r"[a-z_][a-z0-9_]*", bare))
    names = words - FUNCTIONS - labels
    assert names, expression
    assert names - FAMILIES.keys() <= {"up"}, (where, names - FAMILIES.keys())
    known = LABELS_OF_PROMETHEUS.union(*(FAMILIES.get(name, set()) for name in names))
    assert labels <= known, (where, labels - known)
    for name in re.findall(r"(?:rate|increase)\((\w+)", bare):  # of what only counts up
        assert name.endswith(("_total", "_bucket")), name


def test_the_check_above_sees_what_is_wrong() -> None:
    for wrong in (
        "sum(punto_nothing)",
        "sum by (table) (punto_acts_total)",
        'punto_leases{code="x"}',
        "rate(punto_leases[5m])",
    ):
        with pytest.raises(AssertionError):
            test_every_expression_asks_for_what_exists("", wrong)
    assert not balanced("sum(rate(x[5m])")


def test_every_rule_is_whole_and_answered_in_the_runbook() -> None:
    runbook = (ROOT / "docs" / "runbook.md").read_text()
    assert len({rule["alert"] for rule in RULES}) == len(RULES) > 10
    for rule in RULES:
        assert rule["alert"].startswith("Punto")
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"]
        assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
        assert f"### {rule['alert']}\n" in runbook
    assert set(re.findall(r"^### (Punto\w+)$", runbook, re.MULTILINE)) == {rule["alert"] for rule in RULES}


def test_every_metric_is_shown_or_watched() -> None:
    asked = " ".join(expression for _, expression in EXPRESSIONS)
    forgotten = {
        name for name in FAMILIES if not name.endswith(("_sum", "_count")) and not re.search(rf"\b{name}\b", asked)
    }
    assert forgotten == set()


def test_labels_have_few_values() -> None:
    assert {label for labels in FAMILIES.values() for label in labels} <= {
        *("kind", "code", "verb", "error", "ended", "how", "reason", "server")
    }
    assert len(ErrorCode) + len(CloseCode) < 100


def test_each_panel_has_a_place_of_its_own() -> None:
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(places)
    assert REGISTRY.get_sample_value("punto_connections") is not None
