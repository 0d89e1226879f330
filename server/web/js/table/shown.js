/**
 * Makes what is due the state that is shown: the mirror takes it, the witness hears it, and what happens once (an
 * event, own results) is told once. When something is due is the timeline's matter, what came next the following's.
 */

/** A card that is shown later than this was missed: it is there, and does not come flying. */
const FRESH_MS = 1_500;

export class Shown {
  constructor({ mirror, seat, record, witness, tell }) {
    this.mirror = mirror;
    this.seat = seat;
    this.record = record;
    this.witness = witness;
    this.tell = tell;
    this.seatAtMs = -Infinity;
  }

  /** Take a whole state. */
  whole(view) {
    this.mirror.replace(view);
    this.witness.begin(view);
    this.seat.restart();
    this.#tellOwed();
    this.tell("change");
  }

  /** Take the own seat as it was told in answer to what was asked at `askedAtMs`. */
  renewSeat(you, askedAtMs) {
    this.seatAtMs = askedAtMs;
    this.mirror.renewSeat(you);
    this.seat.restart();
    this.#tellOwed();
  }

  /** Take a numbered event, so much after its instant. */
  numbered(event, lateMs) {
    const isOpening = event.type === "betting_opened";
    this.witness.hear(event, this.mirror.view.rules);
    this.mirror.applyNumbered(event, this.seatAtMs);
    if (isOpening) this.seat.restart();
    if (event.type === "round_voided") this.#tellOwed();
    this.tell("moment", { kind: "event", event, isFresh: !(lateMs > FRESH_MS) });
    this.tell("change");
    this.#tellOwed();
    if (isOpening) this.seat.playAgain();
  }

  /** Take what became of the own bets. */
  results(results) {
    if (!this.mirror.applyResults(results)) return;
    this.seat.restart();
    this.#tellResults(results);
  }

  crowd(event) {
    this.mirror.applyCrowd(event);
    this.tell("change");
  }

  #tellOwed() {
    const owed = this.seat.isMine ? this.mirror.owedResults() : null;
    if (owed !== null) this.#tellResults(owed);
  }

  #tellResults(results) {
    this.tell("moment", { kind: "results", played: this.record.add(results) });
    this.tell("change");
  }
}
