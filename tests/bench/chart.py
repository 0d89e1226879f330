"""Figures against size as one SVG that needs nothing else: both axes logarithmic, a line through the medians, a bar
from the least to the greatest. Pure.
"""

import math
from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

from tests.bench.figures import Figure

WIDTH: Final = 460
HEIGHT: Final = 300
LEFT: Final = 56
RIGHT: Final = 16
TOP: Final = 40
BOTTOM: Final = 40
COLOURS: Final = ("#1b6b4a", "#b7791f")
_STYLE: Final = "text { font: 12px system-ui, sans-serif; fill: #1d2a24; } .grid { stroke: #d4dbd7; }"


class Series(NamedTuple):
    """One line: its name, and figures by size."""

    name: str
    points: Sequence[tuple[int, Figure]]


class Panel(NamedTuple):
    """One plot: its title, what goes across and what goes up, and its lines."""

    title: str
    across: str
    up: str
    series: Sequence[Series]


def chart(panels: Sequence[Panel]) -> str:
    """Draw panels beside each other."""
    inside = "".join(f'<g transform="translate({n * WIDTH} 0)">{_panel(panel)}</g>' for n, panel in enumerate(panels))
    width = WIDTH * len(panels)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}">'
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="white"/>{inside}</svg>\n'
    )


def _panel(panel: Panel) -> str:
    known = [(size, told) for series in panel.series for size, told in series.points]
    across = _decades([size for size, _ in known])
    up = _decades([value for _, told in known for value in (told.min, told.max)])
    parts = [_text(LEFT, 18, panel.title, 'font-weight="bold"')]
    for power in range(across[0], across[1] + 1):
        x = _x(10.0**power, across)
        parts.append(_line(x, TOP, x, HEIGHT - BOTTOM))
        parts.append(_text(x, HEIGHT - BOTTOM + 16, f"{10**power:,}", 'text-anchor="middle"'))
    for power in range(up[0], up[1] + 1):
        y = _y(10.0**power, up)
        parts.append(_line(LEFT, y, WIDTH - RIGHT, y))
        parts.append(_text(LEFT - 6, y + 4, f"{10.0**power:,g}", 'text-anchor="end"'))
    parts.append(_text(WIDTH - RIGHT, HEIGHT - 8, panel.across, 'text-anchor="end"'))
    parts.append(_text(8, TOP - 8, panel.up))
    for number, series in enumerate(panel.series):
        colour = COLOURS[number % len(COLOURS)]
        spots = [(_x(size, across), told) for size, told in series.points]
        path = " ".join(f"{x:.1f},{_y(told.median, up):.1f}" for x, told in spots)
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>')
        for x, told in spots:
            parts.append(_line(x, _y(told.min, up), x, _y(told.max, up), f'stroke="{colour}" stroke-width="5"'))
            label = f"{told.median:.3g}"
            parts.append(_text(x + 5, _y(told.median, up) - 6, label, f'style="fill: {colour}" text-anchor="middle"'))
        parts.append(_text(LEFT + 10, TOP + 16 + 16 * number, series.name, f'style="fill: {colour}"'))
    return "".join(parts)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten that hold all these values."""
    positive = [value for value in values if value > 0] or [1.0]
    lowest, highest = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    return lowest, max(highest, lowest + 1)


def _x(value: float, powers: tuple[int, int]) -> float:
    return LEFT + _share(value, powers) * (WIDTH - LEFT - RIGHT)


def _y(value: float, powers: tuple[int, int]) -> float:
    return HEIGHT - BOTTOM - _share(value, powers) * (HEIGHT - TOP - BOTTOM)


def _share(value: float, powers: tuple[int, int]) -> float:
    return (math.log10(max(value, 10.0 ** powers[0])) - powers[0]) / (powers[1] - powers[0])


def _line(x1: float, y1: float, x2: float, y2: float, attributes: str = 'class="grid"') -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {attributes}/>'


def _text(x: float, y: float, text: str, attributes: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {attributes}>{escape(text)}</text>'
