/** Beside the felt: what all have on the spots, who sits here, and the patron's own last rounds. */

import { SPOT_LETTERS, SPOT_NAMES } from "../text/words.js";
import { el, fill, say, set, show } from "./dom.js";

const SPOTS = ["player", "tie", "banker"];
const ROUNDS_SHOWN = 12;

export class Side {
  constructor(more) {
    this.bars = Object.fromEntries(SPOTS.map((spot) => [spot, bar(spot)]));
    this.count = el("span", { class: "muted" });
    this.seats = el("ul", { class: "seats" });
    this.noSeats = el("p", { class: "muted", hidden: true }, "At a table of this size only the sums are shown.");
    this.rows = new Map();
    this.rounds = el("tbody", {});
    this.noRounds = el("p", { class: "muted" }, "None yet.");
    const head = el(
      "tr",
      {},
      ["Round", "Result", "Staked", "Won"].map((name) => el("th", { scope: "col" }, name)),
    );
    this.table = el(
      "table",
      { class: "rounds" },
      el("caption", { class: "unseen" }, "My last rounds"),
      el("thead", {}, head),
      this.rounds,
    );
    this.roundsKey = null;
    this.element = el(
      "aside",
      { class: "side", "aria-label": "The table and its seats" },
      el(
        "section",
        { class: "panel" },
        el("h2", {}, "Bets on the table"),
        el(
          "div",
          { class: "bars" },
          SPOTS.map((spot) => this.bars[spot].element),
        ),
      ),
      el(
        "section",
        { class: "panel panel-seats" },
        el("h2", {}, "Seats ", this.count),
        el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Seats" }, this.seats, this.noSeats),
      ),
      el(
        "section",
        { class: "panel panel-rounds" },
        el("h2", {}, "My last rounds"),
        el(
          "div",
          { class: "scroll", tabindex: "0", role: "region", "aria-label": "My last rounds" },
          this.noRounds,
          this.table,
        ),
      ),
      more,
    );
  }

  render(table, patron, money) {
    const { crowd, rules } = table.view;
    const greatest = Math.max(1, ...Object.values(crowd.totals));
    for (const spot of SPOTS) {
      const part = this.bars[spot];
      show(part.element, spot in rules.maximums);
      const total = crowd.totals[spot] ?? 0;
      part.fill.style.setProperty("--part", (total / greatest).toFixed(3));
      say(part.amount, money.format(total));
    }
    say(this.count, String(crowd.seated));
    show(this.noSeats, crowd.seats === null);
    this.#renderSeats(crowd.seats ?? [], patron, money);
    this.#renderRounds(table.rounds, money);
  }

  #renderSeats(seats, patron, money) {
    const here = new Set(seats.map((seat) => seat.patron));
    for (const id of this.rows.keys()) if (!here.has(id)) this.rows.delete(id);
    const nodes = seats.map((seat) => {
      if (!this.rows.has(seat.patron)) this.rows.set(seat.patron, seatRow());
      const row = this.rows.get(seat.patron);
      const isMine = seat.patron === patron;
      say(row.name, seat.name);
      const marks = [
        isMine ? "you" : null,
        seat.bot ? "bot" : null,
        seat.connected ? null : "away",
        seat.ready ? "ready" : null,
      ];
      say(row.mark, marks.filter((mark) => mark !== null).join(" · "));
      for (const spot of SPOTS) {
        const amount = seat.bets[spot] ?? 0;
        say(row.bets[spot].amount, amount > 0 ? money.formatShort(amount) : "");
        show(row.bets[spot].element, amount > 0);
      }
      set(row.element, "data-away", !seat.connected);
      set(row.element, "data-mine", isMine);
      return row.element;
    });
    fill(this.seats, nodes);
  }

  #renderRounds(rounds, money) {
    const key = rounds
      .slice(0, ROUNDS_SHOWN)
      .map((one) => one.round)
      .join();
    show(this.noRounds, rounds.length === 0);
    show(this.table, rounds.length > 0);
    if (key === this.roundsKey) return;
    this.roundsKey = key;
    this.rounds.replaceChildren(
      ...rounds
        .slice(0, ROUNDS_SHOWN)
        .map((one) =>
          el(
            "tr",
            {},
            el("td", {}, String(one.round)),
            el("td", {}, outcomeMark(one.outcome)),
            el("td", { class: "money" }, money.format(one.staked)),
            el(
              "td",
              { class: `money ${one.net > 0 ? "gain" : one.net < 0 ? "cost" : ""}` },
              money.formatSigned(one.net),
            ),
          ),
        ),
    );
  }
}

/** A letter in the outcome's colour; "void" where the round did not count. */
export function outcomeMark(outcome) {
  if (outcome === null) return el("span", { class: "muted" }, "void");
  return el(
    "span",
    { class: `letter letter-${outcome}`, "aria-label": SPOT_NAMES[outcome], role: "img" },
    SPOT_LETTERS[outcome],
  );
}

function bar(spot) {
  const amount = el("span", { class: "money bar-amount" });
  const part = el("span", { class: `bar-fill bar-${spot}` });
  const element = el(
    "div",
    { class: "bar" },
    el("span", { class: `letter letter-${spot}`, "aria-label": SPOT_NAMES[spot], role: "img" }, SPOT_LETTERS[spot]),
    el("span", { class: "bar-track" }, part),
    amount,
  );
  return { element, fill: part, amount };
}

function seatRow() {
  const name = el("span", { class: "seat-name" });
  const mark = el("span", { class: "seat-mark muted" });
  const bets = Object.fromEntries(
    SPOTS.map((spot) => {
      const amount = el("span", {});
      const element = el(
        "span",
        { class: `seat-bet bet-${spot}`, hidden: true },
        el("abbr", { title: SPOT_NAMES[spot] }, SPOT_LETTERS[spot]),
        " ",
        amount,
      );
      return [spot, { element, amount }];
    }),
  );
  const who = el("span", { class: "seat-who" }, name, mark);
  const element = el(
    "li",
    { class: "seat" },
    who,
    el(
      "span",
      { class: "seat-bets" },
      SPOTS.map((spot) => bets[spot].element),
    ),
  );
  return { element, name, mark, bets };
}
