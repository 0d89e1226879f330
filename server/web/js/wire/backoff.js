/** Pauses between attempts: exponential, each drawn from the whole range below its ceiling. Pure: chance comes in. */

/**
 * Without the jitter all pages of a node that died would come back in the same instant.
 * @param {{lowestMs: number, firstMs: number, highestMs: number}} limits
 * @param {() => number} chance a number from 0 up to 1
 */
export class Backoff {
  constructor(limits, chance = Math.random) {
    this.limits = limits;
    this.chance = chance;
    this.reset();
  }

  /** Begin again with the shortest pause. */
  reset() {
    this.ceilingMs = this.limits.firstMs;
  }

  /** The next pause, in ms. */
  next() {
    const { lowestMs, highestMs } = this.limits;
    const ceilingMs = Math.min(this.ceilingMs, highestMs);
    this.ceilingMs = Math.min(2 * ceilingMs, highestMs);
    return lowestMs + this.chance() * Math.max(0, ceilingMs - lowestMs);
  }
}
