/** What stands in the place of the tray for who has no seat here: why, and how to get one. */

import { SEAT } from "../table/own_seat.js";
import { freedText } from "../text/words.js";
import { button, el, say, show } from "./dom.js";
import { sitSheet } from "./sit.js";

export class Stand {
  /** `take` takes the own seat from where it is held. */
  constructor({ app, table, take }) {
    this.app = app;
    this.table = table;
    this.text = el("p", { class: "table-state", hidden: true });
    this.sit = button("Sit down", { class: "primary" }, () => sitSheet(app, table));
    this.take = button("Take your seat here", { class: "primary" }, take);
    this.element = el("div", { class: "stand" }, this.text, this.sit, this.take);
  }

  render() {
    const { app, table } = this;
    const isElsewhere = table.seat.kind === SEAT.ELSEWHERE;
    const text = standText(table, app.mayPlay);
    show(this.element, table.you === null);
    show(this.take, isElsewhere);
    show(this.sit, !isElsewhere && app.mayPlay);
    say(this.text, text);
    show(this.text, text !== "");
  }
}

function standText({ seat, isFollowed }, mayPlay) {
  switch (seat.kind) {
    case SEAT.NONE:
      if (!isFollowed) return "";
      return mayPlay ? "You are watching." : "You may only watch here.";
    case SEAT.ELSEWHERE:
      return seat.reason === "taken over"
        ? "Your seat was taken over in another window. Here you only watch."
        : "Your seat at this table waits for you, or is held in another window.";
    case SEAT.FREED:
      return freedText(seat.reason);
    default:
      return "";
  }
}
