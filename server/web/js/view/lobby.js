/** The lobby: every table with what it plays, where it is, and its road so far; asked for again every two seconds. */

import { el, fill, say, show } from "./dom.js";
import { sitSheet } from "./sit.js";
import { drawBigRoad } from "../draw/roads.js";
import { cellsOf } from "../game/roads.js";
import { TableClock, clockSample } from "../table/clock.js";
import { SEAT } from "../table/own_seat.js";
import { count, paysText, percentOf, phaseText, variantName } from "../text/words.js";

const REFRESH_MS = 2_000;
const TICK_MS = 250;
const ROAD_COLUMNS = 22;

export class LobbyView {
  constructor(app) {
    this.app = app;
    this.clock = new TableClock();
    this.rows = new Map();
    this.list = el("ul", { class: "lobby-tables" });
    this.empty = el("p", { class: "muted", hidden: true }, "No table is open.");
    this.wallet = el("b", { class: "money" });
    this.name = el("b", {});
    this.element = el(
      "div",
      { class: "lobby" },
      el(
        "header",
        { class: "top" },
        el("span", { class: "brand" }, "Punto"),
        el("p", { class: "top-who" }, this.name, el("span", { class: "muted" }, " wallet "), this.wallet),
      ),
      el("main", { id: "main" }, el("h1", {}, "Tables"), this.empty, this.list),
    );
    this.isClosed = false;
    this.timers = [setInterval(() => this.#tick(), TICK_MS), setInterval(() => this.#refresh(), REFRESH_MS)];
    this.update();
    this.#refresh();
  }

  update() {
    say(this.wallet, this.app.money.formatNamed(this.app.wallet));
    say(this.name, this.app.name);
  }

  opened() {
    document.title = "Punto: tables";
  }

  close() {
    this.isClosed = true;
    for (const timer of this.timers) clearInterval(timer);
  }

  async #refresh() {
    if (this.app.session.state.kind !== "open" || document.visibilityState !== "visible" || this.isAsking) return;
    this.isAsking = true;
    try {
      const { session } = this.app;
      let sentMs = 0;
      const ping = session.ask({ type: "ping" }, { isOnce: true, onSent: (ms) => (sentMs = ms) });
      const tables = await listTables(session);
      const { at_ms: atMs } = await ping;
      this.clock.add(clockSample(sentMs, session.now(), atMs));
      if (!this.isClosed) this.#render(tables);
    } catch {
      return; // the strip above says how the line is; the next refresh comes by itself
    } finally {
      this.isAsking = false;
    }
  }

  #render(tables) {
    for (const summary of tables) {
      if (!this.rows.has(summary.table)) this.rows.set(summary.table, new Row(this.app, summary.table));
      this.rows.get(summary.table).render(summary, this.app.money);
    }
    fill(
      this.list,
      tables.map((summary) => this.rows.get(summary.table).element),
    );
    show(this.empty, tables.length === 0);
    this.#tick();
  }

  #tick() {
    const nowMs = this.clock.at(this.app.session.now());
    for (const row of this.rows.values()) row.tick(nowMs);
  }
}

async function listTables(session) {
  const tables = [];
  let after = null;
  for (;;) {
    const page = await session.ask({ type: "list_tables", after }, { isOnce: true });
    tables.push(...page.tables);
    if (!page.more || page.tables.length === 0) return tables;
    after = page.tables.at(-1).table;
  }
}

/** One table in the list. */
class Row {
  constructor(app, id) {
    this.app = app;
    this.id = id;
    this.title = el("h2", {});
    this.rules = el("p", { class: "muted" });
    this.limits = el("p", {});
    this.phase = el("p", { class: "lobby-phase" });
    this.seats = el("p", { class: "muted" });
    this.road = el("div", { class: "lobby-road" });
    this.mine = el("p", { class: "lobby-mine", hidden: true }, "You are seated here");
    this.watch = el("a", { class: "button", href: `#/table/${id}` }, "Watch");
    this.sit = el("button", { type: "button", class: "primary" }, "Sit down");
    this.sit.addEventListener("click", () => this.#sit());
    this.element = el(
      "li",
      { class: "lobby-table" },
      el("div", { class: "lobby-head" }, this.title, this.phase),
      this.rules,
      this.road,
      el("div", { class: "lobby-facts" }, this.limits, this.seats),
      el("div", { class: "lobby-acts" }, this.mine, this.watch, this.sit),
    );
  }

  render(summary, money) {
    const { rules } = summary;
    this.summary = summary;
    say(this.title, variantName(rules.variant));
    const facts = [
      summary.table,
      count(rules.decks, "deck", "decks"),
      percentOf(rules.commission_bp),
      "tie" in rules.maximums ? `tie\u00a0${paysText(rules, "tie")}` : "no tie bet",
    ];
    say(this.rules, facts.join(" · "));
    say(this.limits, `Limits ${money.formatShort(rules.minimum)}–${money.formatShort(rules.maximums.player)}`);
    say(this.seats, count(summary.seated, "seat taken", "seats taken"));
    const isMine = this.app.tables.get(this.id)?.seat.kind === SEAT.MINE;
    show(this.mine, isMine);
    show(this.sit, !isMine && this.app.mayPlay);
    say(this.watch, isMine ? "Go to the table" : "Watch");
    this.watch.classList.toggle("primary", isMine);
    const name = `${variantName(rules.variant)}, ${summary.table}`;
    this.watch.setAttribute("aria-label", `${isMine ? "Go to" : "Watch"} ${name}`);
    this.sit.setAttribute("aria-label", `Sit down at ${name}`);
    const key = JSON.stringify(summary.big_road);
    if (key !== this.roadKey) {
      this.roadKey = key;
      const cells = cellsOf(summary.big_road).map((cell, number) => ({
        ...cell,
        side: cell.mark === "P" ? "player" : "banker",
        ties: summary.big_road.ties[number],
      }));
      fill(this.road, [drawBigRoad(cells, { columns: ROAD_COLUMNS, isSmall: true })]);
    }
  }

  tick(nowMs) {
    if (this.summary === undefined) return;
    const { phase, closes_at_ms: closesAtMs } = this.summary;
    const left = Math.ceil((closesAtMs - nowMs) / 1000);
    this.element.dataset.phase = phase;
    if (phase === "betting" && left > 0) say(this.phase, `Place your bets · ${left} s`);
    else say(this.phase, phaseText(phase));
  }

  #sit() {
    sitSheet(this.app, this.app.follow(this.id), () => (location.hash = `#/table/${this.id}`));
  }
}
