/**
 * What is shown of one table: a snapshot kept up to date by what came after it, in order; `view` is null before the
 * first. It is what the server last said; nothing hoped for is ever in it. Pure: what is applied may be shown.
 */

import { seatAfterReceipt, seatAfterResults, viewAfter } from "./view.js";

const lastRound = (you) => you?.last_round ?? 0;

export class Mirror {
  constructor() {
    this.view = null;
    this.handedRound = 0;
    this.receiptAtMs = -Infinity;
    this.receiptRound = null;
  }

  /** Take a whole state. */
  replace(view) {
    if (view.incarnation !== this.view?.incarnation) this.handedRound = lastRound(view.you);
    this.receiptAtMs = view.at_ms;
    this.receiptRound = null;
    this.view = view;
  }

  /** Take a numbered event. A seat that was told after the round opened keeps its bets (`seatAtMs`). */
  applyNumbered(event, seatAtMs = -Infinity) {
    const you = this.view.you;
    this.view = viewAfter(this.view, event);
    if (event.type === "betting_opened" && event.opened_at_ms < seatAtMs) this.view = { ...this.view, you };
  }

  /** Take the answer to an own act; false where it is older than what is known. */
  applyReceipt(receipt) {
    const you = this.view.you;
    if (you === null || receipt.round !== this.view.round || lastRound(you) >= receipt.round) return false;
    if (receipt.accepted_at_ms < this.receiptAtMs) return false;
    this.receiptAtMs = receipt.accepted_at_ms;
    this.receiptRound = receipt.round;
    this.view = { ...this.view, you: seatAfterReceipt(you, receipt) };
    return true;
  }

  /** Take what became of the own bets; false where it was shown before. */
  applyResults(results) {
    if (results.round <= this.handedRound) return false;
    this.handedRound = results.round;
    const you = this.view.you;
    if (you === null || lastRound(you) >= results.round) return true;
    const settled = seatAfterResults(you, results);
    const isBettingOn = results.round < this.view.round && this.receiptRound === this.view.round;
    const seat = isBettingOn ? { ...settled, stack: you.stack, bets: you.bets, ready: you.ready } : settled;
    this.view = { ...this.view, you: seat };
    return true;
  }

  applyCrowd(event) {
    if (event.round >= this.view.round) this.view = { ...this.view, crowd: event.crowd };
  }

  /** Take the own seat as the server told it; null makes a spectator. */
  renewSeat(you) {
    if (this.view !== null) this.view = { ...this.view, you };
  }

  /** Hand out, once, the results of the round in view that only the own seat told: after a break, say. */
  owedResults() {
    const { you, outcome, is_void: isVoid, round } = this.view;
    if (you === null || you.last_results === null || (outcome === null && !isVoid)) return null;
    if (you.last_round !== round || round <= this.handedRound) return null;
    this.handedRound = round;
    return { round, outcome, bets: you.last_results, stack: you.stack };
  }
}
