/**
 * One followed table, as the page's views know it: what may be shown now, and what can be asked of it.
 *
 * It tells `change` whenever something to be shown has changed, `moment` for what happens once (a card turned, a refusal,
 * what was won), `wallet`, and with `seat` whether the own seat is here. How it keeps in step is in `following`, what the
 * own seat does in `own_seat`.
 */

import { Emitter } from "../base.js";
import { ClockKeeper } from "./clock_keeper.js";
import { Following } from "./following.js";
import { Mirror } from "./mirror.js";
import { OwnSeat } from "./own_seat.js";
import { Record } from "./record.js";
import { Shown } from "./shown.js";
import { Timeline } from "./timeline.js";
import { Witness } from "./witness.js";

export class Table extends Emitter {
  constructor(
    session,
    id,
    { takesSeat = false, now = () => performance.now(), later = (run, ms) => setTimeout(run, ms) } = {},
  ) {
    super();
    const ask = (request, how) => session.ask(request, how);
    const tell = (kind, value) => this.emit(kind, value);
    const changed = () => tell("change");
    this.id = id;
    this.ask = ask;
    this.mirror = new Mirror();
    this.clock = new ClockKeeper({ ask, table: id, now, later, told: () => this.#heardTime() });
    this.timeline = new Timeline(() => this.clock.nowAtMs, later);
    this.witness = new Witness({ ask, table: id, marked: changed });
    this.record = new Record({ ask, table: id, you: () => this.view?.you, told: changed });
    const { mirror, clock, timeline, witness, record } = this;
    this.seat = new OwnSeat({ ask, table: id, mirror, timeline, record, takesBets: () => this.takesBets, tell });
    const { seat } = this;
    const shown = new Shown({ mirror, seat, record, witness, tell });
    this.following = new Following({
      session,
      table: id,
      takesSeat,
      later,
      clock,
      timeline,
      shown,
      seat,
      record,
      tell,
    });
  }

  // --- what is shown ---

  /** What the server last said of the table; null before it has said anything. */
  get view() {
    return this.mirror.view;
  }

  /** The own seat, where this page holds it. */
  get you() {
    return this.seat.isMine ? (this.view?.you ?? null) : null;
  }

  /** What was asked of the table and is not answered yet. */
  get hope() {
    return this.seat.hope;
  }

  get playsAgain() {
    return this.seat.playsAgain;
  }

  /** The newest rounds with own bets. */
  get rounds() {
    return this.record.rounds;
  }

  /** What the sitting has brought; null where it is not known. */
  get net() {
    return this.record.net(this.you);
  }

  /** Whether what is shown is kept up to date. */
  get isFollowed() {
    return this.following.isFollowed;
  }

  /** Whether the table waits for its store. */
  get isPaused() {
    return this.clock.isStoreAway;
  }

  /** Why there is no such table, or null. */
  get refusedBy() {
    return this.following.refusedBy;
  }

  /** Until betting closes; 0 where it is not open. */
  get leftMs() {
    const view = this.view;
    if (view === null || view.phase !== "betting" || view.closes_at_ms === null) return 0;
    const left = view.closes_at_ms - this.clock.nowAtMs;
    return Number.isNaN(left) ? 0 : Math.max(0, left);
  }

  /** Whether an act would be in time, as far as can be known here. */
  get takesBets() {
    return this.isFollowed && !this.isPaused && this.you !== null && this.leftMs > 0;
  }

  // --- what is asked ---

  /** Sit down, or take the own seat, with so much more from the wallet. Fails with what the server says. */
  sit(buyIn) {
    return this.following.sit(buyIn);
  }

  /** Give the seat up: at once, or after the round where bets lie. Where there is no line the grace time does it. */
  async leave() {
    if (this.isFollowed) return this.seat.leave();
    this.seat.abandon();
    return { isAfterRound: false };
  }

  /** Make an act on the own bets. It is pending until the table has answered. */
  act(act) {
    return this.seat.act(act);
  }

  /** Lay the last bets again each round, from now on or no longer. */
  setPlaysAgain(isOn) {
    this.seat.setPlaysAgain(isOn);
  }

  /** Put bytes of one's own, in hex, into the shuffle of the open shoe. */
  async cut(cut) {
    const { number: shoe } = this.view.shoe;
    const { incarnation } = this.witness.told;
    const reply = await this.ask({ type: "cut", table: this.id, shoe, cut });
    this.witness.hasCut(incarnation, shoe, cut, reply.number);
    this.emit("change");
  }

  /** Time may have passed unseen. */
  wake() {
    this.timeline.flush();
    if (this.isFollowed) this.clock.ping();
  }

  /** Follow the table no longer. A seat that is still held counts as away from now on. */
  close() {
    this.following.close();
  }

  #heardTime() {
    this.timeline.flush();
    this.emit("change");
  }
}
