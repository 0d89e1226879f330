/**
 * Keeps the estimate of a table's clock fresh by pings, for as long as a line lasts. A ping also tells whether the
 * table's store answers: one that does not has paused the table.
 */

import { STORE_AWAY } from "../wire/codes.js";
import { TableClock, clockSample } from "./clock.js";

const PING_MS = 5_000;
const QUICK_PINGS = 3;

export class ClockKeeper {
  /** `told` is called after each answer. */
  constructor({ ask, table, now, later, told }) {
    this.ask = ask;
    this.table = table;
    this.now = now;
    this.later = later;
    this.told = told;
    this.clock = new TableClock();
    this.isStoreAway = false;
    this.lines = 0;
  }

  /** The instant on the table's clock; NaN before it is known. */
  get nowAtMs() {
    return this.clock.at(this.now());
  }

  /** Ping a few times at once, then now and then, until `stop` or the next `keep`. */
  async keep() {
    const line = (this.lines += 1);
    for (let count = 1; count < QUICK_PINGS && line === this.lines; count += 1) await this.ping();
    const beat = () => {
      if (line !== this.lines) return;
      this.ping();
      this.later(beat, PING_MS);
    };
    this.later(beat, PING_MS);
  }

  /** The line is gone, or nobody looks any more. */
  stop() {
    this.lines += 1;
  }

  /** Ping once. Fails only where the answer `isNeeded`. */
  async ping({ isNeeded = false } = {}) {
    let sentMs = 0;
    const onSent = (ms) => (sentMs = ms);
    try {
      const reply = await this.ask({ type: "ping", table: this.table }, { isUrgent: true, isOnce: true, onSent });
      this.clock.add(clockSample(sentMs, this.now(), reply.at_ms));
      this.isStoreAway = false;
      this.told();
    } catch (error) {
      if (error.code === STORE_AWAY) {
        this.isStoreAway = true;
        this.told();
      }
      if (isNeeded) throw error;
    }
  }
}
