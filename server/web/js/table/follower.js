/**
 * Keeps the numbers of one followed table: which event is the next, which is a repeat, and when something is missing.
 * Pure: what it returns says what to do. What was taken here has come, whether it is shown yet or not.
 */

export class Follower {
  constructor() {
    this.incarnation = null;
    this.seq = null;
    this.isBehind = false;
    this.gapSeq = null;
    this.needsSnapshot = false;
  }

  /** What a `watch` or `join` says of what is known. */
  get resume() {
    if (this.incarnation === null || this.needsSnapshot) return {};
    return { incarnation: this.incarnation, seq: this.seq };
  }

  /** Place a numbered event: `next`, `repeat`, or `gap` (ask for what is missing, once). */
  place(seq) {
    if (this.seq === null || seq <= this.seq) return "repeat";
    if (this.isBehind && seq !== this.seq + 1) return "repeat";
    if (seq === this.seq + 1) {
      this.seq = seq;
      return "next";
    }
    this.needsSnapshot = this.gapSeq === this.seq; // the last resume from here did not help
    this.gapSeq = this.seq;
    this.isBehind = true;
    return "gap";
  }

  /** Whether a whole state is to be taken; one that is older than what is known is not. */
  takes(view) {
    if (view.incarnation === this.incarnation && view.seq < this.seq) return false;
    this.incarnation = view.incarnation;
    this.seq = view.seq;
    this.caughtUp();
    return true;
  }

  /** A resume was answered: what was missed follows, or a state was taken. */
  caughtUp() {
    this.isBehind = false;
    this.needsSnapshot = false;
  }
}
