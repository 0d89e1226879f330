/** The sheet with which one sits down, or brings more chips: how much from the wallet, and what a lost line means. */

import { button, el, say } from "./dom.js";
import { openSheet } from "./dialog.js";
import { SEAT } from "../table/own_seat.js";
import { refusalText } from "../text/words.js";

/** What is offered: so many of the table's least bets. */
const OFFERED = [20, 100, 200, 500];

/** Open the sheet. `done` is called when the patron sits. A table that is not sat down at is let go by the router. */
export function sitSheet(app, table, done) {
  const { money } = app;
  const isMore = table.seat.kind === SEAT.MINE;
  const minimum = table.view?.rules.minimum ?? 10 ** money.exponent;
  const graceMs = table.view?.rules.grace_ms ?? 30_000;
  const input = el("input", {
    id: "buy-in",
    inputmode: "decimal",
    autocomplete: "off",
    "aria-describedby": "buy-in-help buy-in-problem",
  });
  const problem = el("p", { id: "buy-in-problem", class: "problem", role: "alert" });
  const offers = OFFERED.map((times) => times * minimum).filter((amount) => amount <= app.wallet);
  const choose = (amount) => {
    input.value = money.formatShort(amount);
    say(problem, "");
    input.focus();
  };
  if (offers.length > 0) input.value = money.formatShort(offers[Math.min(2, offers.length - 1)]);
  const go = button(isMore ? "Bring chips" : "Sit down", { class: "primary", type: "submit" }, () => {}, {
    repeats: true,
  });
  const form = el(
    "form",
    { novalidate: true },
    el("label", { for: "buy-in" }, isMore ? "Chips to bring from your wallet" : "Chips to sit down with"),
    el("div", { class: "row" }, input, go),
    el(
      "div",
      { class: "row offers", role: "group", "aria-label": "Amounts" },
      offers.map((amount) => button(money.formatShort(amount), { class: "quiet" }, () => choose(amount))),
      button("All", { class: "quiet" }, () => choose(app.wallet)),
    ),
    el("p", { id: "buy-in-help", class: "muted" }, `Your wallet holds ${money.formatNamed(app.wallet)}.`),
    problem,
    isMore
      ? null
      : el(
          "p",
          { class: "muted" },
          `If your line drops, bets that lie stay and play out, and your seat waits ${Math.round(graceMs / 1000)} s for you.`,
        ),
  );
  const sheet = openSheet(isMore ? "Bring more chips" : `Sit down at ${table.id}`, form, {
    onClose: () => app.letGo(table.id),
  });
  let isAsking = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isAsking) return;
    const amount = money.parse(input.value);
    if (amount === null || (amount === 0 && isMore)) say(problem, "An amount is needed");
    else if (amount > app.wallet) say(problem, "Your wallet holds less than that");
    else {
      isAsking = true;
      say(go, "…");
      try {
        await table.sit(amount);
        done?.();
        sheet.close();
      } catch (error) {
        say(problem, refusalText(error, table.view?.rules, money));
      } finally {
        isAsking = false;
        say(go, isMore ? "Bring chips" : "Sit down");
      }
    }
  });
  input.focus();
  input.select();
}
