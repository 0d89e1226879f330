/** The three spots of the felt: what lies there of one's own, what is on its way, and what all have there. */

import { chipsOf, drawChip } from "../draw/chip.js";
import { rivalsOf } from "../game/layout.js";
import { SPOT_NAMES, paysText, whyNotText } from "../text/words.js";
import { button, el, fill, say, set, show } from "./dom.js";
import { Rising } from "./rising.js";

const LONG_PRESS_MS = 500;
const ORDER = ["player", "tie", "banker"];

/** `lay(spot)` lays the chosen chip, `takeOff(spot)` takes the top one off. */
export class Spots {
  constructor({ lay, takeOff }) {
    this.spots = Object.fromEntries(ORDER.map((spot) => [spot, spotPart(spot, lay, takeOff)]));
    this.element = el(
      "div",
      { class: "spots", role: "group", "aria-label": "Bets" },
      ORDER.map((spot) => this.spots[spot].element),
    );
  }

  render(table, chip, money) {
    const { view, you } = table;
    const { rules, crowd } = view;
    const mine = you?.bets ?? {};
    const hoped = you === null ? mine : table.hope.after({ rules, stack: you.stack, lastBets: you.last_bets }).sums;
    const lines = view.outcome !== null && you?.last_round === view.round ? you.last_results : null;
    for (const spot of ORDER) {
      const part = this.spots[spot];
      const exists = spot in rules.maximums;
      show(part.element, exists);
      if (!exists) continue;
      const sum = mine[spot] ?? 0;
      const change = (hoped[spot] ?? 0) - sum;
      const line = lines?.[spot] ?? null;
      const shown = line?.stake ?? sum;
      say(part.pays, paysText(rules, spot));
      say(part.mine, shown > 0 ? money.format(shown) : "");
      say(part.pending, change === 0 ? "" : `${money.formatSigned(change)} …`);
      const total = crowd.totals[spot] ?? 0;
      const bettors = crowd.bettors[spot] ?? 0;
      say(
        part.all,
        total > 0 && line === null ? `all ${money.format(total)}${bettors > 0 ? ` · ${bettors}` : ""}` : "",
      );
      this.#renderChips(part, shown, Math.max(0, change), rules, money);
      const why = this.#whyNot(table, spot, chip, hoped, money);
      set(part.element, "aria-disabled", why === null ? null : "true");
      set(part.element, "data-state", stateOf(view, spot, line));
      say(part.why, why !== null && why.isSaid ? why.text : "");
      part.rising.render(line?.result === "win" ? line.payout - line.stake : null, (won) => money.formatSigned(won));
      say(part.back, line?.result === "push" ? "comes back" : "");
      say(part.less, line === null ? "" : lessText(line, money));
      const said = [SPOT_NAMES[spot], `pays ${paysText(rules, spot)}`];
      said.push(shown > 0 ? `your bet ${money.format(shown)}` : "no bet of yours");
      if (change !== 0) said.push(`${money.formatSigned(change)} pending`);
      if (why !== null && why.isSaid) said.push(why.text);
      set(part.element, "aria-label", said.join(", "));
    }
  }

  /** Why a chip would not be taken there now; only what the patron could not see anyway is said on the spot. */
  #whyNot(table, spot, chip, hoped, money) {
    if (!table.takesBets) return { text: "", isSaid: false };
    const { rules, crowd } = table.view;
    const { stack, last_bets: lastBets } = table.you;
    const found = table.hope.whyNot({ type: "place", spot, chip }, { rules, stack, lastBets, totals: crowd.totals });
    if (found === null) return null;
    return { text: whyNotText(found, rules, money, rivalsOf(rules, hoped, spot)), isSaid: true };
  }

  #renderChips(part, sum, pending, rules, money) {
    const key = `${sum}/${pending}/${rules.chips.join()}`;
    if (part.key === key) return;
    part.key = key;
    const places = [...rules.chips].sort((one, other) => one - other);
    const draw = (chip, place, isPending) => {
      const node = el(
        "span",
        { class: `stack-chip${isPending ? " stack-pending" : ""}` },
        drawChip(places.indexOf(chip), money.formatChip(chip)),
      );
      node.style.setProperty("--place", place);
      return node;
    };
    const laid = chipsOf(sum, rules.chips);
    const coming = chipsOf(pending, rules.chips, 3);
    fill(part.chips, [
      ...laid.map((chip, place) => draw(chip, place, false)),
      ...coming.map((chip, place) => draw(chip, laid.length + place, true)),
    ]);
  }
}

function stateOf(view, spot, line) {
  if (view.outcome === null) return null;
  const result = line?.result ?? (view.outcome === spot ? "win" : null);
  return result === null ? "over" : result;
}

/** What was taken off a win. */
function lessText(line, money) {
  const less = [];
  if (line.commission > 0) less.push(`${money.format(line.commission)} commission`);
  if (line.capped > 0) less.push(`${money.format(line.capped)} over the cap`);
  return less.length > 0 ? `less ${less.join(", ")}` : "";
}

function spotPart(spot, lay, takeOff) {
  const part = { key: null };
  let timer = null;
  let wasLong = false;
  const act = (event) => {
    if (wasLong) {
      wasLong = false;
      return;
    }
    if (event.altKey) takeOff(spot);
    else lay(spot);
  };
  for (const name of ["pays", "mine", "pending", "all", "why", "won", "back", "less"])
    part[name] = el("span", { class: `spot-${name}` });
  part.rising = new Rising(part.won);
  part.chips = el("span", { class: "spot-chips", "aria-hidden": "true" });
  part.element = button(
    "",
    { class: `spot spot-${spot}`, "data-spot": spot, "aria-keyshortcuts": SPOT_NAMES[spot][0] },
    act,
    { repeats: true },
  );
  const name = el("span", { class: "spot-name" }, SPOT_NAMES[spot]);
  const stack = el(
    "span",
    { class: "spot-stack" },
    part.chips,
    el("span", { class: "spot-amounts" }, part.mine, part.pending),
  );
  const foot = el("span", { class: "spot-foot" }, part.won, part.back, part.less, part.why, part.all);
  part.element.append(el("span", { class: "spot-head" }, name, part.pays), stack, foot);
  const forget = () => {
    clearTimeout(timer);
    timer = null;
  };
  part.element.addEventListener("pointerdown", (event) => {
    wasLong = false;
    if (event.button !== 0) return;
    timer = setTimeout(() => {
      wasLong = true;
      takeOff(spot);
    }, LONG_PRESS_MS);
  });
  for (const kind of ["pointerup", "pointerleave", "pointercancel"]) part.element.addEventListener(kind, forget);
  part.element.addEventListener("contextmenu", (event) => event.preventDefault());
  part.element.addEventListener("keydown", (event) => {
    if (event.repeat || (event.key !== "Backspace" && event.key !== "Delete")) return;
    event.preventDefault();
    takeOff(spot);
  });
  return part;
}
