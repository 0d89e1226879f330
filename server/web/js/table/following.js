/**
 * Keeps in step with a table over a line that comes and goes: watch, resume, sit down, notice what is missing, and put
 * what came on the timeline in its order.
 */

import { UNKNOWN_TABLE } from "../wire/codes.js";
import { Follower } from "./follower.js";
import { stagesOf } from "./timeline.js";

const AGAIN_MS = 1_000;

export class Following {
  /** `takesSeat`: a seat that is found there is taken, as this tab sat there before it was loaded again. */
  constructor({ session, table, takesSeat, later, clock, timeline, shown, seat, record, tell }) {
    this.session = session;
    this.table = table;
    this.takesSeat = takesSeat;
    this.later = later;
    this.clock = clock;
    this.timeline = timeline;
    this.shown = shown;
    this.seat = seat;
    this.record = record;
    this.tell = tell;
    this.follower = new Follower();
    this.isFollowed = false;
    this.isOver = false;
    this.refusedBy = null;
    this.seenRound = null;
    this.ends = [
      session.on("event", (event) => event.table === table && this.#hear(event)),
      session.on("line", (isThere) => (isThere ? this.#follow() : this.#lostLine())),
    ];
    if (session.state.kind === "open") this.#follow();
    else session.desk.hold(table);
  }

  /** Sit down, or take the own seat, with so much more from the wallet. Fails with what the server says. */
  async sit(buyIn) {
    await this.#join({ buy_in: buyIn }, {}, this.clock.nowAtMs);
    await this.record.readSitting();
  }

  /** Follow the table no longer. A seat that is still held counts as away from now on. */
  close() {
    if (this.isOver) return;
    this.isOver = true;
    for (const end of this.ends) end();
    this.clock.stop();
    this.timeline.clear();
    this.session.desk.drop(this.table);
    if (this.isFollowed) this.session.ask({ type: "unwatch", table: this.table }).catch(() => {});
  }

  // --- the line ---

  async #follow() {
    try {
      await this.clock.ping({ isNeeded: true });
      const isAgain = this.follower.seq !== null;
      await this.#watch();
      if (this.isOver) return;
      this.isFollowed = true;
      this.session.desk.release(this.table);
      this.tell("change");
      this.clock.keep();
      if (isAgain) await this.#tellMissed();
      else if (this.seat.isMine) await this.record.readSitting();
    } catch (error) {
      if (this.isOver) return;
      if (error.code === UNKNOWN_TABLE) this.refusedBy = error;
      else if (error.code !== undefined)
        this.later(() => !this.isOver && this.session.state.kind === "open" && this.#follow(), AGAIN_MS);
      this.tell("change");
    }
  }

  async #watch() {
    const askedAtMs = this.clock.nowAtMs;
    const request = { type: "watch", table: this.table, ...this.follower.resume };
    const reply = await this.session.ask(request, { isUrgent: true });
    const holdsSeat = this.seat.isMine;
    this.#accept(reply, false, askedAtMs);
    if (reply.you !== null && (holdsSeat || this.takesSeat)) {
      this.takesSeat = false;
      await this.#join({}, { isUrgent: true }, askedAtMs);
    } else if (holdsSeat) {
      this.timeline.put(() => this.seat.lost("away"));
    }
  }

  async #join(fields, how, askedAtMs) {
    const request = { type: "join", table: this.table, ...fields, ...this.follower.resume };
    this.#accept(await this.session.ask(request, how), true, askedAtMs);
  }

  #lostLine() {
    this.isFollowed = false;
    this.seenRound ??= this.record.newestRound;
    this.clock.stop();
    this.session.desk.hold(this.table);
    this.tell("change");
  }

  /** After a break: which rounds with own bets were played meanwhile. */
  async #tellMissed() {
    const since = this.seenRound ?? Infinity;
    const missed = await this.record.readMissed(since);
    if (missed === null) return;
    this.seenRound = null;
    this.timeline.put(() => this.tell("moment", { kind: "back", missed }));
  }

  // --- what comes ---

  /** Take the answer to a watch or a join: what was missed follows it, or it holds the state. */
  #accept(reply, holdsSeat, askedAtMs) {
    if (reply.snapshot !== null) {
      this.#takeView({ ...reply.snapshot, you: reply.you });
    } else {
      this.follower.caughtUp();
      this.timeline.put(() => this.shown.renewSeat(reply.you, askedAtMs));
    }
    this.timeline.put(() => {
      if (reply.wallet !== null) this.tell("wallet", reply.wallet);
      this.seat.told(reply.you, holdsSeat);
    });
  }

  #takeView(view) {
    if (!this.follower.takes(view)) {
      this.timeline.put(() => this.shown.mirror.renewSeat(view.you));
      return;
    }
    this.timeline.clear();
    for (const stage of stagesOf(view, this.clock.nowAtMs)) {
      this.timeline.put(() => this.shown.whole(stage.view), stage.atMs);
    }
  }

  #hear(event) {
    if (this.isOver || this.follower.seq === null) return;
    if (event.seq !== undefined) this.#hearNumbered(event);
    else this.#hearBeside(event);
  }

  #hearNumbered(event) {
    const place = this.follower.place(event.seq);
    if (place === "gap") this.#follow();
    if (place === "next") this.timeline.put((lateMs) => this.shown.numbered(event, lateMs), event.show_at_ms);
  }

  #hearBeside(event) {
    switch (event.type) {
      case "snapshot":
        this.#takeView({ ...event.snapshot, you: this.seat.isMine ? event.snapshot.you : null });
        return;
      case "results":
        if (!this.follower.isBehind) this.timeline.put(() => this.shown.results(event));
        return;
      case "crowd":
        this.timeline.put(() => this.shown.crowd(event));
        return;
      case "seat_taken_over":
        this.timeline.put(() => this.seat.takenOver());
        return;
      case "seat_freed":
        this.timeline.put(() => {
          this.seat.lost(event.reason);
          if (event.wallet !== null) this.tell("wallet", event.wallet);
        });
        return;
      case "seat_warned":
        this.timeline.put(() => this.tell("moment", { kind: "warned", roundsLeft: event.rounds_left }));
        return;
      default:
    }
  }
}
