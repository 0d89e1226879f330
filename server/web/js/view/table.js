/** The table: puts its parts together, and has them drawn when something has changed. */

import { refusalText } from "../text/words.js";
import { Betting } from "./betting.js";
import { Call } from "./call.js";
import { openSheet } from "./dialog.js";
import { button, el, oncePerFrame, set, show } from "./dom.js";
import { Hands } from "./hands.js";
import { Moments } from "./moments.js";
import { Notes } from "./notes.js";
import { ProofMark } from "./proof.js";
import { recordsSheet } from "./records.js";
import { RoadsStrip } from "./roads.js";
import { rulesSheet } from "./rules.js";
import { Side } from "./side.js";
import { sitSheet } from "./sit.js";
import { Spots } from "./spots.js";
import { Stand } from "./stand.js";
import { TimerRing } from "./timer.js";
import { Top } from "./top.js";
import { Tray } from "./tray.js";

export class TableView {
  constructor(app, table) {
    this.app = app;
    this.table = table;
    this.timer = new TimerRing(table);
    this.hands = new Hands();
    this.call = new Call();
    this.notes = new Notes();
    this.tray = new Tray({
      act: (type) => table.act({ type }),
      explain: (text) => this.notes.add(text, { kind: "bad" }),
      choose: () => this.update(),
      playAgain: (isOn) => table.setPlaysAgain(isOn),
    });
    this.betting = new Betting({ app, table, tray: this.tray, notes: this.notes });
    this.spots = new Spots({
      lay: (spot) => this.betting.lay(spot),
      takeOff: (spot) => this.betting.takeOff(spot),
    });
    this.stand = new Stand({ app, table, take: () => this.#orSay(() => table.sit(0)) });
    this.side = new Side(
      el(
        "div",
        { class: "side-more" },
        button("Rules and odds", { class: "quiet" }, () => table.view && rulesSheet(table.view.rules, app.money)),
        button("My records", { class: "quiet" }, () => recordsSheet(app, table)),
      ),
    );
    this.roads = new RoadsStrip();
    this.proof = new ProofMark(table, this.notes);
    this.moments = new Moments({ app, table, hands: this.hands, notes: this.notes });
    this.top = new Top({
      table,
      proof: this.proof,
      bringChips: () => sitSheet(app, table),
      leave: () => this.#orSay(() => this.#leave()),
    });
    this.felt = this.#buildFelt();
    this.element = this.#build();
    this.draw = oncePerFrame(() => this.#render());
    this.ends = [table.on("change", () => this.update()), table.on("moment", (moment) => this.moments.take(moment))];
    this.isClosed = false;
    this.#render();
  }

  /** Draw with the next picture. That something is pending is marked at once, and taken back with the picture. */
  update() {
    if (this.isClosed) return;
    if (this.table.hope.isPending) set(this.element, "data-pending", true);
    this.draw();
  }

  /** Say how long it has been, as the patron asked for. */
  remind(text) {
    this.notes.add(text, { stays: true });
  }

  opened() {
    document.title = `Punto: ${this.table.id}`;
  }

  close() {
    this.isClosed = true;
    for (const end of this.ends) end();
    this.timer.close();
    this.hands.close();
    this.roads.close();
    this.notes.close();
  }

  #buildFelt() {
    const { player, banker } = this.hands.sides;
    const felt = el(
      "section",
      { class: "felt", "aria-label": "Felt" },
      el(
        "div",
        { class: "deal-area" },
        player.element,
        el("div", { class: "middle" }, this.timer.element),
        banker.element,
      ),
      this.call.element,
      this.spots.element,
      this.tray.element,
      this.stand.element,
      this.notes.element,
    );
    felt.addEventListener("keydown", (event) => this.betting.key(event));
    return felt;
  }

  #build() {
    const sheetButton = button("Seats, my rounds, rules", { class: "quiet" }, () => this.#openSide());
    return el(
      "div",
      { class: "table" },
      this.top.element,
      el(
        "main",
        { class: "table-main", id: "main" },
        this.felt,
        el("div", { class: "phone-bar" }, sheetButton),
        this.side.element,
        this.roads.element,
      ),
    );
  }

  /** On a narrow screen what is beside the felt comes in a sheet, and goes back when that is closed. */
  #openSide() {
    const home = this.side.element.nextSibling;
    openSheet("At this table", this.side.element, {
      kind: "side-sheet",
      onClose: () => home.parentNode?.insertBefore(this.side.element, home),
    });
  }

  async #leave() {
    const { isAfterRound } = await this.table.leave();
    if (isAfterRound) this.notes.add("You leave when this round is over. Your bets play out.");
  }

  /** Ask the table for something, or say why it was refused. */
  async #orSay(ask) {
    try {
      await ask();
    } catch (error) {
      this.notes.add(refusalText(error, this.table.view?.rules, this.app.money), { kind: "bad" });
    }
  }

  #render() {
    if (this.isClosed) return;
    const { table, app } = this;
    const { view } = table;
    show(this.felt, view !== null);
    if (view === null) {
      this.top.sayTitle(table.refusedBy === null ? table.id : "There is no such table");
      return;
    }
    this.top.render(app.money);
    this.hands.render(view);
    this.timer.render();
    this.tray.render(table, app.money);
    this.spots.render(table, this.tray.chip, app.money);
    this.side.render(table, app.patron, app.money);
    this.roads.render(view);
    this.proof.render();
    this.call.render(table, app.money);
    this.stand.render();
    set(this.element, "data-pending", table.hope.isPending);
    set(this.element, "data-phase", view.phase);
    set(this.element, "data-line", table.isFollowed ? (table.isPaused ? "paused" : "open") : "away");
  }
}
