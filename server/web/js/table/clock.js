/**
 * What a table's clock says now, estimated from pings against a monotonic clock of the page's own. Pure: readings come
 * in. The computer's wall clock is never asked, so that a wrong or changing one moves nothing.
 */

const SAMPLES_MAX = 8;
/** How fast two clocks may run apart: twice what ordinary oscillators are allowed. */
const DRIFT = 1e-4;
/** A reading in whole milliseconds was cut off by half of one on average. */
const RESOLUTION_MS = 0.5;

/** One ping: sent and answered on the page's clock, `atMs` read from the table's clock in between. */
export function clockSample(sentMs, answeredMs, atMs) {
  return { sentMs, answeredMs, offsetMs: atMs + RESOLUTION_MS - (sentMs + answeredMs) / 2 };
}

function uncertaintyMs(sample, nowMs) {
  return (sample.answeredMs - sample.sentMs) / 2 + RESOLUTION_MS + DRIFT * Math.abs(nowMs - sample.answeredMs);
}

export class TableClock {
  constructor() {
    this.samples = [];
  }

  get isKnown() {
    return this.samples.length > 0;
  }

  /**
   * Take one more ping into account. Where it can't be true together with the best one so far, the table's clock was
   * set or this computer slept (some do not count the time of a sleep): what was known before is forgotten.
   */
  add(sample) {
    const nowMs = sample.answeredMs;
    if (this.isKnown) {
      const best = this.#best(nowMs);
      const bound = uncertaintyMs(sample, nowMs) + uncertaintyMs(best, nowMs);
      if (Math.abs(sample.offsetMs - best.offsetMs) > bound) this.samples = [];
    }
    this.samples = [...this.samples.slice(1 - SAMPLES_MAX), sample];
  }

  /** The instant on the table's clock at `nowMs` of the page's; NaN before the first ping. */
  at(nowMs) {
    return this.isKnown ? nowMs + this.#best(nowMs).offsetMs : NaN;
  }

  /** How far that may be wrong. */
  uncertainty(nowMs) {
    return this.isKnown ? uncertaintyMs(this.#best(nowMs), nowMs) : Infinity;
  }

  #best(nowMs) {
    return this.samples.reduce((best, other) =>
      uncertaintyMs(other, nowMs) < uncertaintyMs(best, nowMs) ? other : best,
    );
  }
}
