/**
 * The own seat at a table: where it is, and the acts on its bets. An act is pending until the table has answered; what
 * is only hoped for is in `hope`, and never in the mirror.
 */

import { NOT_SEATED, SEAT_TAKEN_OVER } from "../wire/codes.js";
import { Hope } from "./hope.js";

/** Where the own seat is: `none`, `mine`, `elsewhere` (or waiting to be taken), or gone, with the reason. */
export const SEAT = { NONE: "none", MINE: "mine", ELSEWHERE: "elsewhere", FREED: "freed" };

export class OwnSeat {
  /** `takesBets` says whether an act would be in time; `tell` emits what the table's page listens for. */
  constructor({ ask, table, mirror, timeline, record, takesBets, tell }) {
    this.ask = ask;
    this.table = table;
    this.mirror = mirror;
    this.timeline = timeline;
    this.record = record;
    this.takesBets = takesBets;
    this.tell = tell;
    this.kind = SEAT.NONE;
    this.reason = "";
    this.hope = new Hope();
    this.playsAgain = false;
  }

  get isMine() {
    return this.kind === SEAT.MINE;
  }

  // --- where it is ---

  /** The server has told the seat, null for none, in answer to a watch or, where it `isHeld` now, a join. */
  told(you, isHeld) {
    if (isHeld && you !== null) this.#put(SEAT.MINE, "");
    else if (you === null && this.kind === SEAT.ELSEWHERE) this.#put(SEAT.NONE, "");
    else if (you !== null && !this.isMine) this.#put(SEAT.ELSEWHERE, this.reason);
    else this.#put(this.kind, this.reason);
    this.tell("change");
  }

  /** Another connection has it now. */
  takenOver() {
    this.#put(SEAT.ELSEWHERE, "taken over");
    this.playsAgain = false;
    this.hope.restart({});
    this.tell("change");
  }

  /** It is no more; `left` was the patron's own wish. */
  lost(reason) {
    this.#put(reason === "left" ? SEAT.NONE : SEAT.FREED, reason);
    this.playsAgain = false;
    this.record.endSitting();
    this.mirror.renewSeat(null);
    this.hope.restart({});
    this.tell("change");
  }

  /** Give it up: at once, or after the round where bets lie. */
  async leave() {
    this.playsAgain = false;
    const reply = await this.ask({ type: "leave", table: this.table });
    this.timeline.put(() => {
      if (!reply.after_round) {
        this.lost("left");
        this.tell("wallet", reply.wallet);
      } else if (this.isMine && this.mirror.view.you !== null) {
        this.mirror.renewSeat({ ...this.mirror.view.you, leaving: true });
      }
      this.tell("change");
    });
    return { isAfterRound: reply.after_round };
  }

  /** Let go of it where there is no line to say so: the grace time does the rest. */
  abandon() {
    this.playsAgain = false;
    this.#put(SEAT.NONE, "");
    this.tell("change");
  }

  #put(kind, reason) {
    this.kind = kind;
    this.reason = reason;
    this.tell("seat", this.isMine);
  }

  // --- its bets ---

  /** What lies was told anew. */
  restart() {
    this.hope.restart(this.mirror.view.you?.bets ?? {});
  }

  async act(act) {
    const { isAgain: _, ...verb } = act;
    const message = { ...verb, table: this.table, round: this.mirror.view.round };
    const entry = this.hope.add(act);
    this.tell("change");
    try {
      const receipt = await this.ask(message);
      this.timeline.put(() => this.#applyReceipt(entry, receipt));
    } catch (error) {
      this.timeline.put(() => this.#applyRefusal(entry, error));
    }
  }

  /** Lay the last bets again each round, from now on or no longer. */
  setPlaysAgain(isOn) {
    this.playsAgain = isOn;
    this.tell("change");
    this.playAgain();
  }

  /** Lay the last bets again, where that was wished for and nothing lies. */
  playAgain() {
    if (!this.playsAgain || !this.takesBets() || this.hope.isPending) return;
    const { bets, last_bets: lastBets, leaving } = this.mirror.view.you;
    if (Object.keys(bets).length > 0 || Object.keys(lastBets).length === 0 || leaving) return;
    this.act({ type: "rebet", isAgain: true });
  }

  #applyReceipt(entry, receipt) {
    const isNews = this.mirror.applyReceipt(receipt);
    this.hope.answered(entry, isNews ? receipt.bets : null, this.mirror.view.rules);
    this.tell("change");
  }

  #applyRefusal(entry, error) {
    this.hope.refused(entry);
    if (error.code === NOT_SEATED) this.#put(SEAT.FREED, this.reason);
    else if (error.code === SEAT_TAKEN_OVER) this.#put(SEAT.ELSEWHERE, this.reason);
    if (entry.act.isAgain) this.playsAgain = false;
    this.tell("moment", { kind: "refused", act: entry.act, error });
    this.tell("change");
  }
}
