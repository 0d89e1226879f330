/** The five roads and the shoe's statistics under the felt; drawn anew only where they, or their room, have changed. */

import { drawBeadPlate, drawBigRoad, drawDerived, drawNext, roadName } from "../draw/roads.js";
import { DERIVED, beadsOf, bigRoadOf, cellsOf, statisticsOf } from "../game/roads.js";
import { el, fill, say } from "./dom.js";

/** The side of a cell on the screen, in CSS pixels. */
const CELL = 19;
const SMALL_CELL = 9.5;

export class RoadsStrip {
  constructor() {
    this.roads = null;
    this.statistics = statisticsPart();
    this.next = nextPart();
    this.boards = {
      bead: board("Bead plate", CELL, (roads, columns) => drawBeadPlate(beadsOf(roads), { columns })),
      big: board("Big road", CELL, (roads, columns) => {
        const tiesOnly = roads.big_road.marks === "" ? roads.beads.length / 3 : 0;
        return drawBigRoad(bigRoadOf(roads), { columns, tiesOnly });
      }),
      ...Object.fromEntries(
        DERIVED.map((road) => [
          road,
          board(roadName(road), SMALL_CELL, (roads, columns) =>
            drawDerived(road, cellsOf(roads.derived[road]), { columns }),
          ),
        ]),
      ),
    };
    const { bead, big, big_eye_boy: eye, small_road: small, cockroach_pig: pig } = this.boards;
    this.element = el(
      "section",
      { class: "roads", "aria-label": "Roads", tabindex: "0" },
      el("div", { class: "roads-bead" }, bead.element),
      el("div", { class: "roads-big" }, big.element),
      el("div", { class: "roads-pair" }, eye.element, small.element),
      el(
        "div",
        { class: "roads-pair" },
        pig.element,
        el("div", { class: "shoe-facts" }, this.statistics.element, this.next.element),
      ),
    );
    this.watcher = new ResizeObserver(() => this.#draw());
    for (const part of Object.values(this.boards)) this.watcher.observe(part.room);
  }

  render(view) {
    if (view.roads === null || view.roads === undefined || view.roads === this.roads) return;
    this.roads = view.roads;
    for (const part of Object.values(this.boards)) part.columns = null;
    this.#draw();
    this.statistics.render(statisticsOf(this.roads));
    this.next.render(this.roads.next);
  }

  close() {
    this.watcher.disconnect();
  }

  #draw() {
    if (this.roads === null) return;
    for (const part of Object.values(this.boards)) {
      const columns = Math.max(6, Math.floor((part.room.clientWidth - 1) / part.cell));
      if (columns === part.columns) continue;
      part.columns = columns;
      const drawing = part.draw(this.roads, columns);
      drawing.style.setProperty("width", `${columns * part.cell + 1}px`);
      fill(part.room, [drawing]);
    }
  }
}

function board(name, cell, draw) {
  const room = el("div", { class: "board-room" });
  const element = el("figure", { class: "board" }, el("figcaption", {}, name), room);
  return { element, room, cell, draw, columns: null };
}

const COUNTED = [
  ["banker", "B", "Banker wins", "letter letter-banker"],
  ["player", "P", "Player wins", "letter letter-player"],
  ["tie", "T", "Ties", "letter letter-tie"],
];

function statisticsPart() {
  const fields = {};
  const item = (key, label, ...content) => {
    fields[key] = el("span", { class: "fact-count" });
    return el("li", { class: "fact" }, content.length > 0 ? content : label, fields[key]);
  };
  const letters = COUNTED.map(([key, letter, label, kind]) =>
    item(key, label, el("span", { class: kind, role: "img", "aria-label": label }, letter)),
  );
  const element = el(
    "ul",
    { class: "facts", "aria-label": "This shoe" },
    letters,
    item("rounds", "rounds "),
    item("naturals", "naturals "),
    item("pairs", "pairs "),
  );
  const render = (counts) => {
    for (const key of ["banker", "player", "tie", "rounds", "naturals"]) say(fields[key], String(counts[key]));
    say(fields.pairs, String(counts.playerPair + counts.bankerPair));
  };
  return { element, render };
}

/** What a win of either side would add to the derived roads: a reading aid, no forecast. */
function nextPart() {
  const rows = { banker: el("span", { class: "next-marks" }), player: el("span", { class: "next-marks" }) };
  const row = (side, name) =>
    el(
      "span",
      { class: "next-row", title: `What a win of ${name} would add to the derived roads` },
      `if ${name[0]} `,
      rows[side],
    );
  const element = el("p", { class: "next" }, row("banker", "Banker"), row("player", "Player"));
  const render = (next) => {
    for (const side of ["banker", "player"])
      fill(
        rows[side],
        DERIVED.map((road) => drawNext(road, next[side][road])),
      );
  };
  return { element, render };
}
