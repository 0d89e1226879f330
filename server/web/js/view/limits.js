/** The limits that a patron plays by: what holds, how much of it is used, and a form to set one's own. */

import { refusalText } from "../text/words.js";
import { button, el, fill, say, show } from "./dom.js";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const PAUSES = [
  [DAY_MS, "a day"],
  [7 * DAY_MS, "a week"],
  [30 * DAY_MS, "30 days"],
  [365 * DAY_MS, "a year"],
];

/** What stands behind a tab: `begin` reads what holds. */
export function limitsPart(app) {
  const { money } = app;
  const when = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const amounts = {
    format: (amount) => money.formatShort(amount),
    parse: (text) => money.parse(text),
    wrong: "An amount is needed, or nothing",
  };
  const minutes = {
    format: (ms) => String(Math.round(ms / MINUTE_MS)),
    parse: (text) => (/^\d{1,6}$/.test(text.trim()) ? Number(text) * MINUTE_MS : null),
    wrong: "Whole minutes are needed, or nothing",
  };
  const fields = [
    field("stake_per_day", `Most that I bet in a day (${money.currency})`, amounts),
    field("loss_per_day", `Most that I lose in a day (${money.currency})`, amounts),
    field("session_ms", "Minutes that I play before a break", minutes),
    field("reminder_ms", "Minutes from one reminder to the next", minutes),
  ];
  const holds = el("ul", { class: "limits-now" });
  const note = el("p", { class: "muted", role: "status" }, "…");
  const problem = el("p", { class: "problem", role: "alert" });
  let told = null;

  const showNow = (limits) => {
    told = limits;
    const own = limits.next ?? limits.own;
    for (const one of fields) {
      const value = one.name === "reminder_ms" ? limits.reminder_ms : own[one.name];
      one.input.value = value === null ? "" : one.kind.format(value);
    }
    fill(
      holds,
      nowLines(limits, money, when).map((line) => el("li", {}, line)),
    );
    say(note, "");
  };
  const ask = async (request) => {
    say(problem, "");
    try {
      showNow(await app.session.ask(request));
      return true;
    } catch (error) {
      say(note, "");
      say(problem, refusalText(error, null, money));
      return false;
    }
  };

  const set = el("button", { type: "submit", class: "primary" }, "Set my limits");
  const form = el(
    "form",
    { novalidate: true, class: "limits-form" },
    fields.flatMap((one) => [el("label", { for: one.input.id }, one.label), one.input]),
    el("p", { class: "muted" }, "Nothing in a field: no limit. What is stricter holds at once, what is looser later."),
    set,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const wanted = {};
    for (const { name, input, kind } of fields) {
      const value = input.value.trim() === "" ? 0 : kind.parse(input.value);
      if (value === null) {
        say(problem, kind.wrong);
        input.focus();
        return;
      }
      wanted[name] = value;
    }
    if (told !== null && (await ask({ type: "set_limits", ...wanted }))) say(note, "Your limits are set.");
  });

  const length = el(
    "select",
    { id: "exclude" },
    PAUSES.map(([ms, text]) => el("option", { value: ms }, text)),
  );
  const sure = button("Yes, no bets until then", { class: "primary", hidden: true }, async () => {
    show(sure, false);
    if (await ask({ type: "set_limits", exclude_ms: Number(length.value) })) say(note, "No more bets until then.");
  });
  const stop = button("Don't let me play", { class: "quiet" }, () => {
    say(problem, "This can't be taken back or shortened by anybody.");
    show(sure, true);
    sure.focus();
  });
  length.addEventListener("change", () => {
    show(sure, false);
    say(problem, "");
  });
  const pause = el("div", { class: "row" }, el("label", { for: "exclude" }, "For"), length, stop, sure);

  const element = el("div", {}, holds, form, pause, problem, note);
  return { element, begin: () => ask({ type: "limits" }) };
}

function field(name, label, kind) {
  return { name, label, kind, input: el("input", { id: `limit-${name}`, inputmode: "decimal", autocomplete: "off" }) };
}

/** What holds now, in sentences. */
function nowLines(limits, money, when) {
  const lines = [
    amountLine("Bet today", limits.staked, "stake_per_day", limits, money),
    amountLine("Lost today", Math.max(0, limits.lost), "loss_per_day", limits, money),
  ].filter((line) => line !== null);
  if (limits.session_until_ms !== null) lines.push(`This session ends at ${when.format(limits.session_until_ms)}`);
  if (limits.next !== null) lines.push(`What you asked for last holds from ${when.format(limits.next_at_ms)}`);
  if (limits.excluded_until_ms !== null) lines.push(`No bets until ${when.format(limits.excluded_until_ms)}`);
  return lines.length > 0 ? lines : ["You have no limits."];
}

/** "Lost today: 12.00 of at most 50.00", and whose limit it is where the house's is the stricter one. */
function amountLine(what, amount, name, { own, house }, money) {
  const known = [own[name], house[name]].filter((value) => value !== null);
  if (known.length === 0) return null;
  const least = Math.min(...known);
  const whose = least === own[name] ? "" : " (the house's limit)";
  return `${what}: ${money.format(amount)} of at most ${money.formatNamed(least)}${whose}`;
}
