/**
 * When what came may be shown: everything in its order, and nothing before its instant on the table's clock.
 *
 * A card comes a little before the instant at which all seats turn it, and results come before the outcome is seen. So
 * what comes waits here. Where the clock is not known nothing waits.
 */

const WAITING_MAX = 2_000;

export class Timeline {
  /**
   * @param {() => number} now the instant on the table's clock; NaN where it is not known
   * @param {(run: () => void, ms: number) => unknown} later
   */
  constructor(now, later) {
    this.now = now;
    this.later = later;
    this.waiting = [];
    this.dueAtMs = -Infinity;
    this.wakeAtMs = Infinity;
  }

  /** Show something at `atMs`, or at once where that is past; never before what came before it. */
  put(show, atMs = -Infinity) {
    this.dueAtMs = Math.max(this.dueAtMs, atMs);
    this.waiting.push({ show, atMs: this.dueAtMs });
    this.flush();
  }

  /** Forget what waits: a whole state replaces it. */
  clear() {
    this.waiting = [];
    this.dueAtMs = -Infinity;
  }

  /** Show all that is due. To be called whenever time may have passed unseen. */
  flush() {
    for (;;) {
      const first = this.waiting[0];
      if (first === undefined) return;
      const nowMs = this.now();
      if (first.atMs > nowMs && this.waiting.length <= WAITING_MAX) {
        this.#wake(first.atMs, nowMs);
        return;
      }
      this.waiting.shift();
      first.show(nowMs - first.atMs);
    }
  }

  #wake(atMs, nowMs) {
    if (this.wakeAtMs <= atMs && this.wakeAtMs > nowMs) return;
    this.wakeAtMs = atMs;
    this.later(() => {
      if (this.wakeAtMs === atMs) this.wakeAtMs = Infinity;
      this.flush();
    }, atMs - nowMs);
  }
}

/**
 * The states through which a snapshot may be shown, each with its instant: a card whose instant has not come is left
 * out, and so is all that gives the outcome away, until `card_ms` after the last card. `cardsOut` counts the cards of the
 * round that have left the shoe, shown or not.
 */
export function stagesOf(view, nowMs) {
  const { dealt } = view;
  const isOver = view.outcome !== null || (view.is_void && dealt.length > 0);
  const lastAtMs = dealt.length > 0 ? dealt.at(-1).show_at_ms : -Infinity;
  const wholeAtMs = isOver ? lastAtMs + view.rules.card_ms : lastAtMs;
  if (!(wholeAtMs > nowMs)) return [{ atMs: -Infinity, view }];
  const hidden = isOver ? { phase: "dealing", outcome: null, is_void: false, roads: null } : {};
  const before = { ...view, ...hidden, you: beforeResults(view), cardsOut: dealt.length };
  const shown = dealt.filter((card) => card.show_at_ms <= nowMs).length;
  const stages = [{ atMs: -Infinity, view: { ...before, dealt: dealt.slice(0, shown) } }];
  for (let count = shown + 1; count <= dealt.length; count += 1) {
    stages.push({ atMs: dealt[count - 1].show_at_ms, view: { ...before, dealt: dealt.slice(0, count) } });
  }
  if (isOver) stages.push({ atMs: wholeAtMs, view });
  else stages[stages.length - 1].view = view;
  return stages;
}

/** The own seat as it was before the round in view was settled. */
function beforeResults({ you, round }) {
  if (you === null || you.last_round !== round || you.last_results === null) return you;
  const lines = Object.entries(you.last_results);
  const paid = lines.reduce((sum, [, line]) => sum + line.payout, 0);
  const bets = Object.fromEntries(lines.map(([spot, line]) => [spot, line.stake]));
  return { ...you, stack: you.stack - paid, bets, last_round: null, last_outcome: null, last_results: null };
}
