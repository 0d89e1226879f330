/** What the dealer calls: the phase or the outcome in words, and beside it what the round brought the patron. */

import { handTotal } from "../game/cards.js";
import { netOf } from "../table/view.js";
import { outcomeText, phaseText } from "../text/words.js";
import { el, say, set, show } from "./dom.js";

export class Call {
  constructor() {
    this.text = el("p", { class: "call" });
    this.won = el("p", { class: "won money", hidden: true });
    this.why = el("p", { class: "call-why", hidden: true });
    this.element = el("div", { class: "call-line" }, this.text, this.won, this.why);
  }

  render(table, money) {
    const { view, you } = table;
    say(this.text, callText(table));
    const rests = view.phase === "paused" || view.phase === "closed";
    const why = rests ? (view.reason ?? "") : "";
    say(this.why, why);
    show(this.why, why !== "");
    const isOver = view.outcome !== null || view.is_void;
    const isMine = isOver && !rests && you !== null && you.last_round === view.round && you.last_results !== null;
    show(this.won, isMine);
    if (!isMine) return;
    const net = netOf(you.last_results);
    say(this.won, money.formatSigned(net));
    set(this.won, "data-sign", Math.sign(net));
  }
}

function callText({ view, isFollowed, isPaused, leftMs }) {
  if (view.phase === "paused" || view.phase === "closed") return phaseText(view.phase);
  if (isPaused) return "The table is paused: its store does not answer";
  if (view.is_void) return "This round does not count";
  if (view.outcome !== null) return outcomeText(view.outcome, totalOf(view, "player"), totalOf(view, "banker"));
  if (!isFollowed) return "Waiting for the line";
  if (view.phase === "betting") return leftMs > 0 ? "Place your bets" : "No more bets";
  return view.phase === "dealing" ? "No more bets" : "";
}

function totalOf(view, side) {
  return handTotal(view.dealt.filter((dealt) => dealt.side === side).map((dealt) => dealt.card));
}
