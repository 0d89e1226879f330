/** The chip tray and the acts beside it. What can't be done now stays in reach and says why. */

import { drawChip } from "../draw/chip.js";
import { totalOf } from "../game/layout.js";
import { notNowText, whyNotText } from "../text/words.js";
import { button, el, say, set, show } from "./dom.js";

const ACTS = [
  ["undo", "Undo", "u"],
  ["clear", "Clear", "c"],
  ["rebet", "Repeat", "r"],
  ["double", "Double", "d"],
];

/** `act(type)` makes an act, `explain(text)` says why one can't be made. */
export class Tray {
  constructor({ act, explain, choose, playAgain }) {
    this.chip = null;
    this.chips = [];
    this.choose = choose;
    this.tray = el("div", { class: "chips", role: "radiogroup", "aria-label": "Chip" });
    this.tray.addEventListener("keydown", (event) => this.#arrow(event));
    this.buttons = Object.fromEntries(
      ACTS.map(([type, label, key]) => [
        type,
        button(
          label,
          { class: "act", "data-act": type, "aria-keyshortcuts": key.toUpperCase() },
          () => this.#press(type, act, explain),
          { repeats: type === "undo" },
        ),
      ]),
    );
    this.deal = button("Deal", { class: "primary deal", "data-act": "ready", "aria-keyshortcuts": "Enter" }, () =>
      this.#press("ready", act, explain),
    );
    this.again = el("input", { type: "checkbox", id: "play-again" });
    this.again.addEventListener("change", () => playAgain(this.again.checked));
    this.total = el("b", { class: "money" });
    this.note = el("span", { class: "muted" });
    this.element = el(
      "div",
      { class: "tray" },
      this.tray,
      el("div", { class: "acts", role: "group", "aria-label": "Acts" }, Object.values(this.buttons), this.deal),
      el(
        "div",
        { class: "tray-foot" },
        el("span", { class: "tray-total" }, "Total bet ", this.total),
        el("label", { for: "play-again", class: "again" }, this.again, "Play again each round"),
      ),
    );
  }

  /** Make an act by its shortcut. */
  press(type) {
    (type === "ready" ? this.deal : this.buttons[type]).click();
  }

  /** Choose the chip at that place of the tray. */
  chooseAt(place) {
    if (place < this.chips.length) this.#choose(this.chips[place]);
  }

  render(table, money) {
    this.table = table;
    this.money = money;
    const { rules } = table.view;
    const you = table.you;
    show(this.element, you !== null);
    if (you === null) return;
    this.#renderChips(rules.chips, you.stack, money);
    say(this.total, money.format(totalOf(you.bets)));
    for (const [type] of ACTS) this.#renderAct(type, this.buttons[type], table, money);
    this.#renderAct("ready", this.deal, table, money);
    set(this.deal, "data-on", you.ready);
    say(this.deal, you.ready ? "Waiting…" : "Deal");
    if (this.again.checked !== table.playsAgain) this.again.checked = table.playsAgain;
  }

  #renderAct(type, element, table, money) {
    const why = this.#whyNot(type, table, money);
    set(element, "aria-disabled", why === null ? null : "true");
    set(element, "title", why);
    set(element, "data-pending", table.hope.waitsFor(type));
  }

  #whyNot(type, table, money) {
    const notNow = notNowText(table);
    if (notNow !== null) return notNow;
    if (table.hope.waitsFor(type)) return "On its way";
    const { rules, crowd } = table.view;
    const { stack, bets, ready, last_bets: lastBets } = table.you;
    if (type === "ready") return ready ? "Waiting for the other seats" : null;
    if (type === "clear") return totalOf(bets) > 0 || table.hope.isPending ? null : "No bets lie";
    const found = table.hope.whyNot({ type }, { rules, stack, lastBets, totals: crowd.totals });
    return found === null ? null : whyNotText(found, rules, money);
  }

  /** Judged at the click, and not by what was drawn last: a second click comes sooner than a picture. */
  #press(type, act, explain) {
    const why = this.#whyNot(type, this.table, this.money);
    if (why === null) act(type);
    else if (why !== "On its way") explain(why);
  }

  #renderChips(chips, stack, money) {
    if (chips.join() !== this.chips.join()) {
      this.chips = [...chips].sort((one, other) => one - other);
      const places = this.chips;
      this.tray.replaceChildren(
        ...places.map((chip, place) =>
          el(
            "button",
            {
              type: "button",
              role: "radio",
              class: "chip-choice",
              "data-chip": chip,
              "aria-label": money.formatShort(chip),
              "aria-keyshortcuts": String(place + 1),
              onclick: () => this.#choose(chip),
            },
            drawChip(place, money.formatChip(chip)),
          ),
        ),
      );
      if (!places.includes(this.chip)) this.#choose(places[Math.min(1, places.length - 1)]);
    }
    for (const choice of this.tray.children) {
      const chip = Number(choice.dataset.chip);
      const isChosen = chip === this.chip;
      set(choice, "aria-checked", String(isChosen));
      set(choice, "tabindex", isChosen ? "0" : "-1");
      set(choice, "data-beyond", chip > stack);
    }
  }

  #choose(chip) {
    this.chip = chip;
    for (const choice of this.tray.children) {
      const isChosen = Number(choice.dataset.chip) === chip;
      set(choice, "aria-checked", String(isChosen));
      set(choice, "tabindex", isChosen ? "0" : "-1");
    }
    this.choose();
  }

  #arrow(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const place = (this.chips.indexOf(this.chip) + step + this.chips.length) % this.chips.length;
    this.#choose(this.chips[place]);
    this.tray.children[place].focus();
  }
}
