/** The head of a table: what it plays, which round, the proof's mark, and what this sitting stands at. */

import { count, percentOf, variantName } from "../text/words.js";
import { button, el, say, set, show } from "./dom.js";

export class Top {
  constructor({ table, proof, bringChips, leave }) {
    this.table = table;
    this.name = el("span", {});
    this.id = el("span", { class: "top-id" });
    this.title = el("h1", { class: "top-title" }, this.name, this.id);
    this.facts = el("p", { class: "top-facts muted" });
    this.round = el("span", { class: "top-round" });
    this.phoneRound = el("p", { class: "top-facts phone-round muted" });
    this.net = el("b", { class: "money" });
    this.credits = el("b", { class: "money", "data-field": "credits" });
    this.netBox = el(
      "span",
      { class: "top-net", "data-field": "net" },
      el("span", { class: "muted" }, "Sitting "),
      this.net,
    );
    this.creditsBox = el("span", { class: "top-credits" }, el("span", { class: "muted" }, "Credits "), this.credits);
    this.more = button("Bring chips", { class: "quiet" }, bringChips);
    this.leave = button("Leave", { class: "quiet" }, leave);
    this.element = el(
      "header",
      { class: "top" },
      el("a", { class: "brand", href: "#/" }, "Punto"),
      el("div", { class: "top-about" }, this.title, this.facts, this.phoneRound),
      el("div", { class: "top-figures" }, this.round, proof.element, this.netBox, this.creditsBox),
      el("div", { class: "top-acts" }, this.more, this.leave),
    );
  }

  /** Say something in the place of the table's name. */
  sayTitle(text) {
    say(this.name, text);
    say(this.id, "");
  }

  render(money) {
    const { view, you } = this.table;
    const { rules } = view;
    say(this.name, variantName(rules.variant));
    say(this.id, ` · ${view.table}`);
    const limits = `limits ${money.formatShort(rules.minimum)}–${money.formatShort(rules.maximums.player)}`;
    say(
      this.facts,
      [
        count(rules.decks, "deck", "decks"),
        percentOf(rules.commission_bp),
        limits,
        rules.stacked ? "stacked shoe" : null,
      ]
        .filter((part) => part !== null)
        .join(" · "),
    );
    for (const place of [this.round, this.phoneRound]) say(place, view.round === 0 ? "" : `Round ${view.round}`);
    show(this.netBox, you !== null);
    show(this.creditsBox, you !== null);
    show(this.more, you !== null);
    show(this.leave, you !== null);
    if (you === null) return;
    say(this.credits, money.formatNamed(you.stack));
    const net = this.table.net;
    say(this.net, net === null ? "…" : money.formatSigned(net));
    set(this.net, "data-sign", net === null ? null : Math.sign(net));
    say(this.leave, you.leaving ? "Leaving after this round" : "Leave");
  }
}
