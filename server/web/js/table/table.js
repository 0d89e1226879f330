/**
 * One followed table: what the server said of it, what was asked of it, and what may be shown now.
 *
 * It tells `change` whenever something to be shown has changed, and `moment` for what happens once: a card turned, a
 * refusal, what was won. Acts are pending until the table has answered; nothing hoped for is ever in `view`.
 */

import { Emitter } from "../base.js";
import { NOT_SEATED, SEAT_TAKEN_OVER, STORE_AWAY, UNKNOWN_TABLE } from "../wire/codes.js";
import { TableClock, clockSample } from "./clock.js";
import { Follower } from "./follower.js";
import { Hope } from "./hope.js";
import { Mirror } from "./mirror.js";
import { playedRound, withRounds } from "./rounds.js";
import { readSitting, sittingNet } from "./sitting.js";
import { Timeline, stagesOf } from "./timeline.js";
import { Witness } from "./witness.js";

const PING_MS = 5_000;
const QUICK_PINGS = 3;
/** A card that is shown later than this was missed: it is there, and does not come flying. */
const FRESH_MS = 1_500;

/** Where the own seat is: `none`, `mine`, `elsewhere` (or waiting to be taken), or gone, with the reason. */
export const SEAT = { NONE: "none", MINE: "mine", ELSEWHERE: "elsewhere", FREED: "freed" };

export class Table extends Emitter {
  /** `takesSeat`: a seat that is found there is taken, as this tab sat there before it was loaded again. */
  constructor(
    session,
    id,
    { takesSeat = false, now = () => performance.now(), later = (run, ms) => setTimeout(run, ms) } = {},
  ) {
    super();
    this.session = session;
    this.id = id;
    this.takesSeat = takesSeat;
    this.now = now;
    this.later = later;
    this.clock = new TableClock();
    this.follower = new Follower();
    this.timeline = new Timeline(() => this.clock.at(this.now()), later);
    this.mirror = null;
    this.hope = new Hope();
    this.witness = new Witness({
      ask: (request) => session.ask(request),
      table: id,
      marked: () => this.emit("change"),
    });
    this.seat = { kind: SEAT.NONE, reason: "" };
    this.sitting = null;
    this.rounds = [];
    this.playsAgain = false;
    this.isFollowed = false;
    this.isPaused = false;
    this.isOver = false;
    this.seatAtMs = -Infinity;
    this.lines = 0;
    this.refusedBy = null;
    this.settledRound = 0;
    this.ends = [
      session.on("event", (event) => event.table === id && this.#hear(event)),
      session.on("line", (isThere) => (isThere ? this.#follow() : this.#lostLine())),
    ];
    if (session.state.kind === "open") this.#follow();
    else session.desk.hold(id);
  }

  // --- what is shown ---

  get view() {
    return this.mirror?.view ?? null;
  }

  /** The own seat, where this page holds it. */
  get you() {
    return this.seat.kind === SEAT.MINE ? (this.view?.you ?? null) : null;
  }

  /** What the sitting has brought; null where it is not known. */
  get net() {
    return sittingNet(this.sitting, this.you);
  }

  /** The instant on the table's clock; NaN before it is known. */
  get nowAtMs() {
    return this.clock.at(this.now());
  }

  /** Until betting closes; 0 where it is not open. */
  get leftMs() {
    const view = this.view;
    if (view === null || view.phase !== "betting" || view.closes_at_ms === null) return 0;
    const left = view.closes_at_ms - this.nowAtMs;
    return Number.isNaN(left) ? 0 : Math.max(0, left);
  }

  /** Whether an act would be in time, as far as can be known here. */
  get takesBets() {
    return this.isFollowed && !this.isPaused && this.you !== null && this.leftMs > 0;
  }

  // --- what is asked ---

  /** Sit down, or take the own seat, with so much more from the wallet. Fails with what the server says. */
  async sit(buyIn) {
    const askedAtMs = this.nowAtMs;
    const request = { type: "join", table: this.id, buy_in: buyIn, ...this.follower.resume };
    this.#accept(await this.session.ask(request), true, askedAtMs);
    await this.#readSitting();
  }

  /** Give the seat up: at once, or after the round where bets lie. Where there is no line the grace time does it. */
  async leave() {
    this.playsAgain = false;
    if (!this.isFollowed) {
      this.seat = { kind: SEAT.NONE, reason: "" };
      this.emit("change");
      return { isAfterRound: false };
    }
    const reply = await this.session.ask({ type: "leave", table: this.id });
    this.timeline.put(() => {
      if (reply.after_round) {
        if (this.you !== null) this.mirror.renewSeat({ ...this.you, leaving: true });
      } else {
        this.#loseSeat("left");
        this.emit("wallet", reply.wallet);
      }
      this.emit("change");
    });
    return { isAfterRound: reply.after_round };
  }

  /** Follow the table no longer. A seat that is still held counts as away from now on. */
  close() {
    if (this.isOver) return;
    this.isOver = true;
    for (const end of this.ends) end();
    this.timeline.clear();
    this.session.desk.drop(this.id);
    if (this.isFollowed) this.session.ask({ type: "unwatch", table: this.id }).catch(() => {});
  }

  /** Make an act on the own bets. It is pending until the table has answered. */
  async act(act) {
    const { isAgain: _, ...verb } = act;
    const message = { ...verb, table: this.id, round: this.view.round };
    const entry = this.hope.add(act);
    this.emit("change");
    try {
      const receipt = await this.session.ask(message);
      this.timeline.put(() => this.#applyReceipt(entry, receipt));
    } catch (error) {
      this.timeline.put(() => this.#applyRefusal(entry, error));
    }
  }

  /** Put bytes of one's own, in hex, into the shuffle of the open shoe. */
  async cut(cut) {
    const { number: shoe } = this.view.shoe;
    const reply = await this.session.ask({ type: "cut", table: this.id, shoe, cut });
    this.witness.hasCut(shoe, cut, reply.number);
    this.emit("change");
  }

  /** Lay the last bets again each round, from now on or no longer. */
  setPlaysAgain(isOn) {
    this.playsAgain = isOn;
    this.emit("change");
    if (isOn) this.#playAgain();
  }

  /** Time may have passed unseen. */
  wake() {
    this.timeline.flush();
    if (this.isFollowed) this.#ping();
  }

  // --- following ---

  async #follow() {
    try {
      await this.#ping(true);
      const seen = this.follower.seq;
      const askedAtMs = this.nowAtMs;
      const reply = await this.session.ask(
        { type: "watch", table: this.id, ...this.follower.resume },
        { isUrgent: true },
      );
      const holdsSeat = this.seat.kind === SEAT.MINE;
      this.#accept(reply, false, askedAtMs);
      if (reply.you !== null && (holdsSeat || this.takesSeat)) {
        this.takesSeat = false;
        const request = { type: "join", table: this.id, ...this.follower.resume };
        this.#accept(await this.session.ask(request, { isUrgent: true }), true, askedAtMs);
      } else if (holdsSeat) {
        this.timeline.put(() => this.#loseSeat("away"));
      }
      this.isFollowed = true;
      this.session.desk.release(this.id);
      this.emit("change");
      this.#keepClock();
      if (seen !== null) await this.#tellMissed();
      else if (this.seat.kind === SEAT.MINE) await this.#readSitting();
    } catch (error) {
      if (this.isOver) return;
      if (error.code === UNKNOWN_TABLE) this.refusedBy = error;
      else if (error.code !== undefined)
        this.later(() => !this.isOver && this.session.state.kind === "open" && this.#follow(), 1_000);
      this.emit("change");
    }
  }

  #lostLine() {
    this.isFollowed = false;
    this.session.desk.hold(this.id);
    this.emit("change");
  }

  /** Take the answer to a watch or a join: what was missed follows it, or it holds the state. */
  #accept(reply, holdsSeat, askedAtMs) {
    if (reply.snapshot !== null) {
      this.#takeView({ ...reply.snapshot, you: reply.you });
    } else {
      this.follower.caughtUp();
      this.timeline.put(() => {
        this.seatAtMs = askedAtMs;
        this.mirror.renewSeat(reply.you);
        this.hope.restart(reply.you?.bets ?? {});
        this.#showOwed();
      });
    }
    this.timeline.put(() => {
      if (reply.wallet !== null) this.emit("wallet", reply.wallet);
      if (holdsSeat && reply.you !== null) this.seat = { kind: SEAT.MINE, reason: "" };
      else if (reply.you === null && this.seat.kind === SEAT.ELSEWHERE) this.seat = { kind: SEAT.NONE, reason: "" };
      else if (reply.you !== null && this.seat.kind !== SEAT.MINE)
        this.seat = { kind: SEAT.ELSEWHERE, reason: this.seat.reason };
      this.emit("change");
    });
  }

  #takeView(view) {
    if (!this.follower.takes(view)) {
      this.timeline.put(() => this.mirror.renewSeat(view.you));
      return;
    }
    this.timeline.clear();
    for (const stage of stagesOf(view, this.nowAtMs)) {
      this.timeline.put(() => {
        if (this.mirror === null) this.mirror = new Mirror(stage.view);
        else this.mirror.replace(stage.view);
        this.witness.begin(stage.view);
        this.hope.restart(stage.view.you?.bets ?? {});
        this.#showOwed();
        this.emit("change");
      }, stage.atMs);
    }
  }

  // --- events ---

  #hear(event) {
    if (this.isOver || this.follower.seq === null) return;
    if (event.seq !== undefined) {
      const place = this.follower.place(event.seq);
      if (place === "gap") this.#follow();
      if (place === "next") this.timeline.put((late) => this.#applyNumbered(event, late), event.show_at_ms);
      return;
    }
    switch (event.type) {
      case "snapshot":
        this.#takeView({ ...event.snapshot, you: this.seat.kind === SEAT.MINE ? event.snapshot.you : null });
        return;
      case "results":
        if (!this.follower.isBehind) this.timeline.put(() => this.#applyResults(event));
        return;
      case "crowd":
        this.timeline.put(() => {
          this.mirror.applyCrowd(event);
          this.emit("change");
        });
        return;
      case "seat_taken_over":
        this.timeline.put(() => {
          this.seat = { kind: SEAT.ELSEWHERE, reason: "taken over" };
          this.playsAgain = false;
          this.hope.restart({});
          this.emit("change");
        });
        return;
      case "seat_freed":
        this.timeline.put(() => {
          this.#loseSeat(event.reason);
          if (event.wallet !== null) this.emit("wallet", event.wallet);
        });
        return;
      case "seat_warned":
        this.timeline.put(() => this.emit("moment", { kind: "warned", roundsLeft: event.rounds_left }));
        return;
      default:
    }
  }

  #applyNumbered(event, lateMs) {
    this.witness.hear(event, this.view.rules);
    this.mirror.applyNumbered(event, this.seatAtMs);
    const isFresh = !(lateMs > FRESH_MS);
    if (event.type === "betting_opened") this.hope.restart(this.view.you?.bets ?? {});
    if (event.type === "round_voided") this.#showOwed();
    this.emit("moment", { kind: "event", event, isFresh });
    this.emit("change");
    this.#showOwed();
    if (event.type === "betting_opened") this.#playAgain();
  }

  #applyResults(results) {
    if (!this.mirror.applyResults(results)) return;
    this.hope.restart(this.view.you?.bets ?? {});
    this.#tellResults(results);
  }

  #showOwed() {
    const owed = this.seat.kind === SEAT.MINE ? this.mirror.owedResults() : null;
    if (owed !== null) this.#tellResults(owed);
  }

  #tellResults(results) {
    const played = playedRound(this.id, results.round, results.outcome, results.bets);
    this.rounds = withRounds(this.rounds, [played]);
    this.settledRound = results.round;
    this.emit("moment", { kind: "results", played });
    this.emit("change");
  }

  #applyReceipt(entry, receipt) {
    this.hope.answered(entry, this.mirror.applyReceipt(receipt) ? receipt.bets : null, this.view.rules);
    this.emit("change");
  }

  #applyRefusal(entry, error) {
    this.hope.refused(entry);
    if (error.code === SEAT_TAKEN_OVER || error.code === NOT_SEATED) {
      this.seat = { kind: error.code === NOT_SEATED ? SEAT.FREED : SEAT.ELSEWHERE, reason: this.seat.reason };
    }
    if (entry.act.isAgain) this.playsAgain = false;
    this.emit("moment", { kind: "refused", act: entry.act, error });
    this.emit("change");
  }

  #loseSeat(reason) {
    this.seat = { kind: reason === "left" ? SEAT.NONE : SEAT.FREED, reason };
    this.playsAgain = false;
    this.sitting = null;
    this.mirror?.renewSeat(null);
    this.hope.restart({});
    this.emit("change");
  }

  #playAgain() {
    const you = this.you;
    if (!this.playsAgain || !this.takesBets || this.hope.isPending) return;
    if (Object.keys(you.bets).length > 0 || Object.keys(you.last_bets).length === 0 || you.leaving) return;
    this.act({ type: "rebet", isAgain: true });
  }

  // --- what is read beside ---

  async #readSitting() {
    try {
      const sitting = await readSitting((request) => this.session.ask(request), this.id);
      const you = this.view?.you;
      this.sitting = sitting ?? (you ? { boughtIn: you.stack, isSince: true } : null);
      await this.readRounds();
    } catch {
      return; // the net stays unknown, and is shown as that
    } finally {
      this.emit("change");
    }
  }

  /** Read the newest rounds with own bets; those that were not known are returned. */
  async readRounds() {
    const { rounds } = await this.session.ask({ type: "history", limit: 30 });
    const known = new Set(this.rounds.map((one) => one.round));
    const mine = rounds.filter((one) => one.table === this.id && !known.has(one.round));
    const fresh = mine.map((one) => playedRound(one.table, one.round, one.outcome, one.results));
    this.rounds = withRounds(this.rounds, fresh);
    this.emit("change");
    return fresh;
  }

  /** After a break: which rounds with own bets were played meanwhile. Where that can't be read nothing is told. */
  async #tellMissed() {
    const newest = this.rounds[0]?.round ?? Infinity;
    try {
      const fresh = (await this.readRounds()).filter((one) => one.round > newest);
      this.emit("moment", { kind: "back", missed: fresh });
    } catch {
      return;
    }
  }

  /** Ping a few times at once, then now and then, as long as the present line lasts. */
  async #keepClock() {
    const line = (this.lines += 1);
    for (let count = 1; count < QUICK_PINGS; count += 1) await this.#ping();
    const beat = () => {
      if (this.isOver || !this.isFollowed || line !== this.lines) return;
      this.#ping();
      this.later(beat, PING_MS);
    };
    this.later(beat, PING_MS);
  }

  async #ping(isNeeded = false) {
    let sentMs = 0;
    const onSent = (ms) => (sentMs = ms);
    try {
      const reply = await this.session.ask({ type: "ping", table: this.id }, { isUrgent: true, isOnce: true, onSent });
      this.clock.add(clockSample(sentMs, this.now(), reply.at_ms));
      this.isPaused = false;
      this.timeline.flush();
      this.emit("change");
    } catch (error) {
      if (error.code === STORE_AWAY) this.isPaused = true;
      if (isNeeded) throw error;
    }
  }
}
