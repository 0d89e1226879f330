/** What the patron does on the felt, by mouse, finger or key: laying chips, taking them off; and why it can't be done. */

import { rivalsOf } from "../game/layout.js";
import { notNowText, whyNotText } from "../text/words.js";

const KEYS = { u: "undo", c: "clear", r: "rebet", d: "double", Enter: "ready" };
const SPOT_KEYS = { p: "player", b: "banker", t: "tie" };

export class Betting {
  constructor({ app, table, tray, notes }) {
    this.app = app;
    this.table = table;
    this.tray = tray;
    this.notes = notes;
  }

  /** Lay the chosen chip, or say why not. */
  lay(spot) {
    const why = this.#whyNot(spot);
    if (why !== null) this.notes.add(why, { kind: "bad" });
    else this.table.act({ type: "place", spot, chip: this.tray.chip });
  }

  /** Take that spot's top chip off, if there is one. */
  takeOff(spot) {
    const { table } = this;
    if (!table.takesBets) return;
    const { rules } = table.view;
    const { stack, last_bets: lastBets } = table.you;
    const found = table.hope.whyNot({ type: "undo", spot }, { rules, stack, lastBets });
    if (found === null) table.act({ type: "undo", spot });
  }

  /** Take a key that was pressed on the felt. */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.closest("input, textarea, select") !== null) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key === "Enter" && event.target.closest("button, a") !== null) return;
    if (key in SPOT_KEYS) this.lay(SPOT_KEYS[key]);
    else if (key in KEYS) this.tray.press(KEYS[key]);
    else if (/^[1-9]$/.test(key)) this.tray.chooseAt(Number(key) - 1);
    else return;
    event.preventDefault();
  }

  #whyNot(spot) {
    const { table } = this;
    if (table.you === null) return "Sit down to bet";
    const notNow = notNowText(table);
    if (notNow !== null) return notNow;
    const { rules, crowd } = table.view;
    const { stack, last_bets: lastBets } = table.you;
    const hoped = table.hope.after({ rules, stack, lastBets }).sums;
    const found = table.hope.whyNot(
      { type: "place", spot, chip: this.tray.chip },
      { rules, stack, lastBets, totals: crowd.totals },
    );
    return found === null ? null : whyNotText(found, rules, this.app.money, rivalsOf(rules, hoped, spot));
  }
}
