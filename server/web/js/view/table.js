/** The table: puts its parts together, and passes on what the patron does. */

import { handTotal } from "../game/cards.js";
import { SEAT } from "../table/table.js";
import { count, freedText, outcomeText, phaseText, refusalText, whyNotText } from "../text/words.js";
import { openSheet } from "./dialog.js";
import { button, el, oncePerFrame, say, set, show } from "./dom.js";
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
import { TimerRing } from "./timer.js";
import { Top } from "./top.js";
import { Tray } from "./tray.js";

const KEYS = { u: "undo", c: "clear", r: "rebet", d: "double", Enter: "ready" };
const SPOT_KEYS = { p: "player", b: "banker", t: "tie" };

export class TableView {
  constructor(app, table) {
    this.app = app;
    this.table = table;
    this.timer = new TimerRing(table);
    this.hands = new Hands();
    this.notes = new Notes();
    this.spots = new Spots({ lay: (spot) => this.#lay(spot), takeOff: (spot) => this.#takeOff(spot) });
    this.tray = new Tray({
      act: (type) => table.act({ type }),
      explain: (text) => this.notes.add(text, { kind: "bad" }),
      choose: () => this.update(),
      playAgain: (isOn) => table.setPlaysAgain(isOn),
    });
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
      leave: () => this.#leave(),
    });
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

  // --- what the patron does ---

  #lay(spot) {
    const { table } = this;
    const why = this.#whyNot(spot);
    if (why !== null) this.notes.add(why, { kind: "bad" });
    else table.act({ type: "place", spot, chip: this.tray.chip });
  }

  #takeOff(spot) {
    const { table } = this;
    if (!table.takesBets) return;
    const { rules } = table.view;
    const { stack, last_bets: lastBets } = table.you;
    const found = table.hope.whyNot({ type: "undo", spot }, { rules, stack, lastBets });
    if (found === null) table.act({ type: "undo", spot });
  }

  #whyNot(spot) {
    const { table } = this;
    if (table.you === null) return "Sit down to bet";
    if (!table.isFollowed) return "Not while the line is down";
    if (table.isPaused) return "The table is paused";
    if (!table.takesBets) return "Bets are closed";
    const { rules, crowd } = table.view;
    const { stack, last_bets: lastBets } = table.you;
    const hoped = table.hope.after({ rules, stack, lastBets }).sums;
    const found = table.hope.whyNot(
      { type: "place", spot, chip: this.tray.chip },
      { rules, stack, lastBets, totals: crowd.totals },
    );
    if (found === null) return null;
    const rivals = rules.forbidden_pairs
      .filter((pair) => pair.includes(spot))
      .flat()
      .filter((other) => other !== spot && hoped[other] > 0);
    return whyNotText(found, rules, this.app.money, rivals);
  }

  async #leave() {
    try {
      const { isAfterRound } = await this.table.leave();
      if (isAfterRound) this.notes.add("You leave when this round is over. Your bets play out.");
    } catch (error) {
      this.notes.add(refusalText(error, this.table.view?.rules, this.app.money), { kind: "bad" });
    }
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.closest("input, textarea, select") !== null) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key === "Enter" && event.target.closest("button, a") !== null) return;
    if (key in SPOT_KEYS) this.#lay(SPOT_KEYS[key]);
    else if (key in KEYS) this.tray.press(KEYS[key]);
    else if (/^[1-9]$/.test(key)) this.tray.chooseAt(Number(key) - 1);
    else return;
    event.preventDefault();
  }

  // --- what is seen ---

  #build() {
    this.sit = button("Sit down", { class: "primary" }, () => sitSheet(this.app, this.table));
    this.take = button("Take your seat here", { class: "primary" }, () => this.#takeSeat());
    this.call = el("p", { class: "call" });
    this.won = el("p", { class: "won money", hidden: true });
    this.state = el("p", { class: "table-state", hidden: true });
    this.stand = el("div", { class: "stand" }, this.state, this.sit, this.take);
    const felt = el(
      "section",
      { class: "felt", "aria-label": "Felt" },
      el(
        "div",
        { class: "deal-area" },
        this.hands.sides.player.element,
        el("div", { class: "middle" }, this.timer.element),
        this.hands.sides.banker.element,
      ),
      el("div", { class: "call-line" }, this.call, this.won),
      this.spots.element,
      this.tray.element,
      this.stand,
      this.notes.element,
    );
    felt.addEventListener("keydown", (event) => this.#key(event));
    const sheetButton = button("Seats, my rounds, rules", { class: "quiet" }, () => this.#openSide());
    return el(
      "div",
      { class: "table" },
      this.top.element,
      el(
        "main",
        { class: "table-main", id: "main" },
        felt,
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

  async #takeSeat() {
    try {
      await this.table.sit(0);
    } catch (error) {
      this.notes.add(refusalText(error, this.table.view?.rules, this.app.money), { kind: "bad" });
    }
  }

  #render() {
    if (this.isClosed) return;
    const { table, app } = this;
    const { view, you } = table;
    if (view === null) {
      show(this.element.querySelector(".felt"), false);
      this.top.sayTitle(table.refusedBy === null ? table.id : "There is no such table");
      return;
    }
    show(this.element.querySelector(".felt"), true);
    this.top.render(app.money);
    this.hands.render(view);
    this.timer.render();
    this.tray.render(table, app.money);
    this.spots.render(table, this.tray.chip, app.money);
    this.side.render(table, app.patron, app.money);
    this.roads.render(view);
    this.proof.render();
    this.#renderCall(view, you, app.money);
    this.#renderStand(you);
    set(this.element, "data-pending", table.hope.isPending);
    set(this.element, "data-phase", view.phase);
    set(this.element, "data-line", table.isFollowed ? (table.isPaused ? "paused" : "open") : "away");
  }

  #renderCall(view, you, money) {
    const hand = (side) => handTotal(view.dealt.filter((dealt) => dealt.side === side).map((dealt) => dealt.card));
    let text = "";
    if (view.phase === "paused" || view.phase === "closed") text = phaseText(view.phase);
    else if (this.table.isPaused) text = "The table is paused: its store does not answer";
    else if (view.is_void) text = "This round does not count";
    else if (view.outcome !== null) text = outcomeText(view.outcome, hand("player"), hand("banker"));
    else if (view.phase === "betting") text = this.table.leftMs > 0 ? "Place your bets" : "No more bets";
    else if (view.phase === "dealing") text = "No more bets";
    say(this.call, text);
    const isMine =
      (view.outcome !== null || view.is_void) &&
      you !== null &&
      you.last_round === view.round &&
      you.last_results !== null;
    show(this.won, isMine);
    if (!isMine) return;
    const net = Object.values(you.last_results).reduce((sum, line) => sum + line.payout - line.stake, 0);
    say(this.won, money.formatSigned(net));
    set(this.won, "data-sign", Math.sign(net));
  }

  #renderStand(you) {
    const { seat, isFollowed } = this.table;
    show(this.stand, you === null);
    show(this.take, seat.kind === SEAT.ELSEWHERE);
    show(this.sit, seat.kind !== SEAT.ELSEWHERE && this.app.mayPlay);
    const text = {
      [SEAT.NONE]: isFollowed ? (this.app.mayPlay ? "You are watching." : "You may only watch here.") : "",
      [SEAT.ELSEWHERE]:
        seat.reason === "taken over"
          ? "Your seat was taken over in another window. Here you only watch."
          : "Your seat at this table waits for you, or is held in another window.",
      [SEAT.FREED]: freedText(seat.reason),
      [SEAT.MINE]: "",
    }[seat.kind];
    say(this.state, text);
    show(this.state, text !== "");
  }
}
