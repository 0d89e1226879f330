/**
 * Records, page by page: the patron's rounds with bets, every movement of the patron's money, the finished rounds of the
 * table; and the limits that the patron plays by.
 */

import { cardInShort, cardInWords } from "../game/cards.js";
import { netOf } from "../table/view.js";
import { SPOT_LETTERS, SPOT_NAMES } from "../text/words.js";
import { openSheet } from "./dialog.js";
import { button, el, say, show } from "./dom.js";
import { limitsPart } from "./limits.js";
import { outcomeMark } from "./side.js";

const KINDS = {
  put_in: "Play money",
  credited: "From the house",
  debited: "To the house",
  buy_in_given: "To the table",
  buy_in_closed: "Taken by the table",
  buy_in_refused: "Back from the table",
  cash_out_taken: "Home from the table",
  bought_in: "Chips bought",
  acted: "Bet",
  settled: "Settled",
  cashed_out: "Chips sent home",
};
const VERBS = { place: "Bet", undo: "Undo", clear: "Clear", rebet: "Repeat", double: "Double" };

/** Open the sheet, the patron's rounds first. */
export function recordsSheet(app, table) {
  const when = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "medium" });
  const { money } = app;
  const rounds = pages(
    ["When", "Table", "Round", "Result", "Bets", "Won"],
    (before) =>
      app.session.ask({ type: "history", before, limit: 20 }).then(({ rounds: rows, more }) => ({ rows, more })),
    (one) => [
      when.format(one.at_ms),
      one.table,
      String(one.round),
      outcomeMark(one.outcome),
      stakesText(one.bets, money),
      signed(netOf(one.results), money),
    ],
  );
  const lines = pages(
    ["When", "Table", "What", "Amount", "Balance"],
    (before) =>
      app.session.ask({ type: "statement", before, limit: 50 }).then(({ lines: rows, more }) => ({ rows, more })),
    (line) => [
      when.format(line.at_ms),
      line.table ?? "wallet",
      whatText(line),
      signed(line.amount, money),
      money.format(line.balance),
    ],
  );
  const played = pages(
    ["When", "Round", "Result", "Player", "Banker", "Bets", "Paid"],
    (before) =>
      app.session
        .ask({ type: "rounds", table: table.id, before, limit: 20 })
        .then(({ rounds: rows, more }) => ({ rows, more })),
    (one) => [
      when.format(one.settled_at_ms),
      String(one.round),
      outcomeMark(one.outcome),
      cardsText(one.player),
      cardsText(one.banker),
      stakesText(one.totals, money),
      money.format(one.paid),
    ],
  );
  const tabs = tabList([
    ["My rounds", rounds],
    ["Statement", lines],
    ["This table", played],
    ["My limits", limitsPart(app)],
  ]);
  openSheet("My records", tabs, { kind: "wide" });
}

function cardsText(cards) {
  return el("span", { "aria-label": cards.map(cardInWords).join(", "), role: "img" }, cards.map(cardInShort).join(" "));
}

function stakesText(stakes, money) {
  return Object.entries(stakes)
    .map(([spot, stake]) => `${SPOT_LETTERS[spot]} ${money.format(stake)}`)
    .join("  ");
}

function whatText(line) {
  const what = line.kind === "acted" ? (VERBS[line.verb] ?? "Bet") : (KINDS[line.kind] ?? line.kind);
  const round = line.round === null ? "" : `, round ${line.round}`;
  return `${what}${line.spot === null ? "" : ` ${SPOT_NAMES[line.spot]}`}${round}`;
}

function signed(amount, money) {
  return el("span", { class: `money ${amount > 0 ? "gain" : amount < 0 ? "cost" : ""}` }, money.formatSigned(amount));
}

/** A table that is filled page by page. `read(before)` brings a page, `cells(row)` makes a line of it. */
function pages(columns, read, cells) {
  const body = el("tbody", {});
  const note = el("p", { class: "muted", role: "status" }, "…");
  let before = null;
  const more = button("More", { class: "quiet", hidden: true }, () => next());
  const next = async () => {
    show(more, false);
    try {
      const page = await read(before);
      body.append(
        ...page.rows.map((row) =>
          el(
            "tr",
            {},
            cells(row).map((cell) => el("td", {}, cell)),
          ),
        ),
      );
      before = page.rows.at(-1)?.id ?? before;
      show(more, page.more && page.rows.length > 0);
      say(note, body.childElementCount === 0 ? "Nothing yet." : "");
    } catch {
      say(note, "This could not be read just now.");
      show(more, true);
    }
  };
  const head = el(
    "thead",
    {},
    el(
      "tr",
      {},
      columns.map((name) => el("th", { scope: "col" }, name)),
    ),
  );
  const element = el(
    "div",
    {},
    el(
      "div",
      { class: "wide-table", tabindex: "0", role: "region", "aria-label": "Records" },
      el("table", { class: "records" }, head, body),
    ),
    note,
    more,
  );
  return { element, begin: next };
}

function tabList(parts) {
  const begun = new Set();
  const buttons = parts.map(([name], place) =>
    el("button", { type: "button", role: "tab", id: `tab-${place}`, "aria-controls": `panel-${place}` }, name),
  );
  const panels = parts.map(([, part], place) =>
    el("div", { role: "tabpanel", id: `panel-${place}`, "aria-labelledby": `tab-${place}` }, part.element),
  );
  const choose = (chosen) => {
    for (const [place, tab] of buttons.entries()) {
      tab.setAttribute("aria-selected", String(place === chosen));
      tab.tabIndex = place === chosen ? 0 : -1;
      show(panels[place], place === chosen);
    }
    if (!begun.has(chosen)) parts[chosen][1].begin();
    begun.add(chosen);
  };
  for (const [place, tab] of buttons.entries()) {
    tab.addEventListener("click", () => choose(place));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step === undefined) return;
      const next = (place + step + buttons.length) % buttons.length;
      choose(next);
      buttons[next].focus();
    });
  }
  choose(0);
  return [el("div", { role: "tablist", class: "tabs" }, buttons), ...panels];
}
