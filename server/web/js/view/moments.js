/** Says what happens once at a table: phases, cards and results aloud, refusals and what was missed as notes. */

import { cardInWords, handTotal } from "../game/cards.js";
import { SPOT_NAMES, count, outcomeText, refusalText, restText, resultTexts } from "../text/words.js";
import { el } from "./dom.js";
import { announce } from "./live.js";

export class Moments {
  constructor({ app, table, hands, notes }) {
    this.app = app;
    this.table = table;
    this.hands = hands;
    this.notes = notes;
  }

  /** Take a moment as the table tells it. */
  take(moment) {
    switch (moment.kind) {
      case "event":
        this.#event(moment.event, moment.isFresh);
        return;
      case "results":
        for (const text of resultTexts(moment.played.lines, moment.played.outcome, this.app.money)) announce(text);
        return;
      case "refused":
        this.notes.add(this.#refusedText(moment), { kind: "bad" });
        return;
      case "warned":
        this.notes.add("No bet for many rounds: your seat is freed after the next one without.", { stays: true });
        return;
      case "back":
        this.#tellMissed(moment.missed);
        return;
      default:
    }
  }

  #refusedText({ act, error }) {
    const { rules } = this.table.view;
    const text = refusalText(error, rules, this.app.money);
    if (act.type !== "place") return text;
    return `${this.app.money.formatShort(act.chip)} on ${SPOT_NAMES[act.spot]} came back. ${text}`;
  }

  #event(event, isFresh) {
    const view = this.table.view;
    switch (event.type) {
      case "betting_opened":
        announce(`Place your bets, ${Math.round(this.table.leftMs / 1000)} seconds`);
        return;
      case "betting_closed":
        announce("No more bets");
        return;
      case "card_dealt": {
        if (isFresh) this.hands.expect();
        const hand = view.dealt.filter((dealt) => dealt.side === event.side).map((dealt) => dealt.card);
        announce(`${SPOT_NAMES[event.side]}: ${cardInWords(event.card)}, ${handTotal(hand)}`);
        return;
      }
      case "round_decided":
        announce(outcomeText(event.outcome, event.player_total, event.banker_total));
        return;
      case "round_voided":
        this.notes.add("This round does not count: every stake comes back.");
        return;
      case "table_paused":
      case "table_closed":
        announce(restText(view));
        return;
      case "shoe_started":
        announce("A new shoe");
        return;
      default:
    }
  }

  #tellMissed(missed) {
    if (missed.length === 0) return;
    const { money } = this.app;
    const net = missed.reduce((sum, one) => sum + one.net, 0);
    const rows = missed.map((one) =>
      el(
        "li",
        {},
        `Round ${one.round}: ${one.outcome === null ? "void" : SPOT_NAMES[one.outcome]}, ${money.formatSigned(one.net)}`,
      ),
    );
    const text = `While you were away ${count(missed.length, "round", "rounds")} with your bets played out: ${money.formatSigned(net)}`;
    this.notes.add(text, { stays: true, details: [el("ul", {}, rows)] });
  }
}
