"""Times between the pictures that a page draws, and how busy its main thread was meanwhile."""

from typing import Any, NamedTuple

from playwright.async_api import CDPSession, Page

_TIMES = """seconds => new Promise((resolve) => {
  const times = [];
  let before = performance.now();
  const end = before + seconds * 1000;
  const frame = () => {
    const now = performance.now();
    times.push(now - before);
    before = now;
    if (now < end) requestAnimationFrame(frame);
    else resolve(times);
  };
  requestAnimationFrame(frame);
})"""
_PARTS = {"all": "TaskDuration", "script": "ScriptDuration", "style": "RecalcStyleDuration", "layout": "LayoutDuration"}


class Frames(NamedTuple):
    """Milliseconds from picture to picture, sorted, and shares of the time in which the main thread was at work."""

    times: list[float]
    shares: dict[str, float]

    def __str__(self) -> str:
        middle, tail = self.times[len(self.times) // 2], self.times[len(self.times) * 99 // 100]
        frames = f"{len(self.times)} frames, p50 {middle:.1f} ms, p99 {tail:.1f} ms, worst {self.times[-1]:.1f} ms"
        return f"{frames}; main thread " + ", ".join(f"{name} {share:.1%}" for name, share in self.shares.items())


async def watch_frames(page: Page, cdp: CDPSession, seconds: int) -> Frames:
    """Watch for so long. The session must have `Performance` enabled."""
    before = await metrics(cdp)
    times = sorted(await page.evaluate(_TIMES, seconds))
    after = await metrics(cdp)
    spent = sum(times) / 1000
    return Frames(times, {name: (after[key] - before[key]) / spent for name, key in _PARTS.items()})


async def metrics(cdp: CDPSession) -> dict[str, float]:
    """What the browser counts of the page: memory, nodes, listeners, and seconds of work since it was opened."""
    found: dict[str, Any] = await cdp.send("Performance.getMetrics")
    return {one["name"]: one["value"] for one in found["metrics"]}
