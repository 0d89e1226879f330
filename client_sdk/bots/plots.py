"""Plots as inline SVG: lines over time, and bars of a histogram. No script, nothing from elsewhere, all text escaped.

Pure: numbers go in, markup comes out. Read next: `report_page`.
"""

import math
from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

from client_sdk.bots.histogram import BUCKETS_PER_DOUBLING, Histogram

WIDTH: Final = 720
HEIGHT: Final = 220
LEFT: Final = 56
BOTTOM: Final = 28
TOP: Final = 12
RIGHT: Final = 8
COLOURS: Final = ("#1b6b4a", "#b7791f", "#a4243b")
BARS_PER_DOUBLING: Final = 4


class Line(NamedTuple):
    """One line of a plot: its name, and (x, y) from left to right."""

    name: str
    points: Sequence[tuple[float, float]]


def lines(title: str, across: str, up: str, drawn: Sequence[Line]) -> str:
    """Draw lines over one another, from zero upwards."""
    x_max = max((x for line in drawn for x, _ in line.points), default=0.0) or 1.0
    y_max = _round_up(max((y for line in drawn for _, y in line.points), default=0.0))
    parts = [_axes(title, across, up, x_max, y_max)]
    for number, line in enumerate(drawn):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{_x(x / x_max):.1f},{_y(y / y_max):.1f}" for x, y in line.points)
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{path}"/>')
        parts.append(_text(LEFT + 12 + 60 * number, TOP + 12, line.name, f'fill="{colour}"'))
    return _svg(title, parts)


def bars(title: str, histogram: Histogram) -> str:
    """Draw how often which duration came; each bar is four times as narrow as a doubling."""
    counts: dict[int, int] = {}
    for bucket, count in histogram.counts.items():
        bar = bucket * BARS_PER_DOUBLING // BUCKETS_PER_DOUBLING
        counts[bar] = counts.get(bar, 0) + count
    first, last = min(counts, default=0), max(counts, default=0)
    y_max = _round_up(max(counts.values(), default=0))
    width = (WIDTH - LEFT - RIGHT) / (last - first + 1)
    parts = [_axes(title, "", "times", 0.0, y_max)]
    for bar, count in sorted(counts.items()):
        x, y = LEFT + (bar - first) * width, _y(count / y_max)
        told = f"{_ms(2 ** (bar / BARS_PER_DOUBLING))} to {_ms(2 ** ((bar + 1) / BARS_PER_DOUBLING))} ms: {count}"
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(1.0, width - 1):.1f}" height="{HEIGHT - BOTTOM - y:.1f}"'
            f' fill="{COLOURS[0]}"><title>{escape(told)}</title></rect>'
        )
    step = max(1, (last - first + 1) // 8)
    for bar in range(first, last + 2, step):
        label = f"{_ms(2 ** (bar / BARS_PER_DOUBLING))} ms"
        parts.append(_text(LEFT + (bar - first) * width, HEIGHT - 8, label, 'text-anchor="middle"'))
    return _svg(title, parts)


def _axes(title: str, across: str, up: str, x_max: float, y_max: float) -> str:
    parts = [
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - TOP - BOTTOM}" class="area"/>'
    ]
    for share in (0.0, 0.5, 1.0):
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_y(share):.1f}" y2="{_y(share):.1f}" class="grid"/>')
        parts.append(_text(LEFT - 6, _y(share) + 4, f"{y_max * share:g}", 'text-anchor="end"'))
        if x_max:
            parts.append(_text(_x(share), HEIGHT - 8, f"{x_max * share:.0f} {across}", _anchor(share)))
    parts.append(_text(WIDTH - RIGHT - 6, TOP + 12, up, 'text-anchor="end"'))
    return "".join(parts)


def _svg(title: str, parts: Sequence[str]) -> str:
    inside = "".join(parts)
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="{escape(title)}">{inside}</svg></figure>'
    )


def _text(x: float, y: float, text: str, attributes: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {attributes}>{escape(text)}</text>'


def _anchor(share: float) -> str:
    return f'text-anchor="{"start" if share == 0 else "end" if share == 1 else "middle"}"'


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)


def _round_up(value: float) -> float:
    """Return the next number of the shape 1, 2 or 5 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10 ** math.floor(math.log10(value))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= value))


def _ms(duration_ms: float) -> str:
    return f"{duration_ms:.3g}"
