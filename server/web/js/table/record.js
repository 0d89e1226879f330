/** What the patron has played at a table so far, read from the server: the last rounds, and what the sitting stands at. */

import { playedRound, withRounds } from "./rounds.js";
import { readSitting, sittingNet } from "./sitting.js";

const HISTORY_LINES = 30;

export class Record {
  /** `you` gives the own seat as it is known at the time; `told` is called where something was read. */
  constructor({ ask, table, you, told }) {
    this.ask = ask;
    this.table = table;
    this.you = you;
    this.told = told;
    this.rounds = [];
    this.isRead = false;
    this.sitting = null;
  }

  /** What the sitting of this seat has brought; null where it is not known. */
  net(you) {
    return sittingNet(this.sitting, you);
  }

  /** A round was settled; returns it as it is listed. */
  add({ round, outcome, bets }) {
    const played = playedRound(this.table, round, outcome, bets);
    this.rounds = withRounds(this.rounds, [played]);
    return played;
  }

  /** The sitting has ended. */
  endSitting() {
    this.sitting = null;
  }

  /** Read what was bought in, and the last rounds. Where that can't be read the net stays unknown, and is shown as that. */
  async readSitting() {
    try {
      const sitting = await readSitting(this.ask, this.table);
      const you = this.you();
      this.sitting = sitting ?? (you ? { boughtIn: you.stack, isSince: true } : null);
      await this.readRounds();
    } catch {
      return;
    } finally {
      this.told();
    }
  }

  /** Read the newest rounds with own bets. */
  async readRounds() {
    const { rounds } = await this.ask({ type: "history", limit: HISTORY_LINES });
    const known = new Set(this.rounds.map((one) => one.round));
    const mine = rounds.filter((one) => one.table === this.table && !known.has(one.round));
    const fresh = mine.map((one) => playedRound(one.table, one.round, one.outcome, one.results));
    this.rounds = withRounds(this.rounds, fresh);
    this.isRead = true;
    this.told();
  }

  /** The newest known round with own bets, 0 before the first; infinite where nobody has read them yet. */
  get newestRound() {
    return this.isRead ? (this.rounds[0]?.round ?? 0) : Infinity;
  }

  /** The rounds with own bets after that one, read anew; null where they can't be read. */
  async readMissed(sinceRound) {
    try {
      await this.readRounds();
      return this.rounds.filter((one) => one.round > sinceRound);
    } catch {
      return null;
    }
  }
}
