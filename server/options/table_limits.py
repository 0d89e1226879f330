"""The options that are about one table, as an operator gives them for it: over those that it has, or the house's."""

import argparse
from collections.abc import Mapping
from typing import Any, Final

from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import TableRules
from server.limits import impossible
from server.options.catalogue import OPTIONS
from server.settings import BadSetting, Limits, Pace, Stakes

_STAKES: Final = tuple(Stakes.__dataclass_fields__)
_PACE: Final = tuple(Pace.__dataclass_fields__)
LIMIT_KEYS: Final = (*_STAKES, *_PACE, "cut_card", "seats_max")


def limits_given(args: argparse.Namespace) -> dict[str, object]:
    """Pick what was given on the command line."""
    return {key: value for key, value in vars(args).items() if key in LIMIT_KEYS}


def limits_of(values: Mapping[str, Any]) -> Limits:
    """Make limits of the values of LIMIT_KEYS."""
    stakes = Stakes(**{key: values[key] for key in _STAKES})
    pace = Pace(**{key: values[key] for key in _PACE})
    return Limits(stakes, pace, values["cut_card"], values["seats_max"])


def values_of(rules: TableRules) -> dict[str, Any]:
    """Say by which values a table was given these rules; what its variant leaves no trace of is as by default."""
    found: dict[str, Any] = {key: OPTIONS[key].default for key in LIMIT_KEYS}
    found |= {key: getattr(rules, key) for key in (*_PACE, "minimum", "seats_max")}
    found["chips"] = tuple(rules.chips)
    found["maximum"] = rules.maximums[Spot.PLAYER]
    found["table_maximum"] = rules.table_maximums.get(Spot.PLAYER, 0)
    found["win_max"] = rules.win_max or 0
    found["tie_maximum"] = rules.maximums.get(Spot.TIE, found["tie_maximum"])
    found["cut_card"] = found["cut_card"] if rules.cut_card is None else rules.cut_card
    return found


def refuse_impossible(rules: TableRules) -> TableRules:
    """Pass rules on that can be played by. Raises `BadSetting`, which names the option."""
    if found := impossible(rules):
        raise BadSetting(found.problem, found.key)
    return rules
