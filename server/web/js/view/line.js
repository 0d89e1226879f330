/** The strip over the page that says how the line is: nothing while all is well. */

import { button, el, say, show } from "./dom.js";
import { alert, announce } from "./live.js";

/** Shown only after this long without a line: a hand-over between nodes is quicker. */
const PATIENCE_MS = 400;

export function lineBar(app) {
  const text = el("p", {});
  const act = button("Try now", { class: "quiet" }, () => app.session.hurry());
  const again = button("Load the page again", { class: "quiet" }, () => location.reload());
  const warning = el("p", { class: "line-warning", hidden: true, role: "status" });
  const element = el(
    "div",
    { class: "line-bar", hidden: true },
    el("span", { class: "line-dot", "aria-hidden": "true" }),
    text,
    act,
    again,
  );
  let timer = null;
  let wasDown = false;

  const reveal = (isShown) => {
    clearTimeout(timer);
    timer = null;
    show(element, isShown);
  };

  const update = (state) => {
    say(text, lineText(state, app));
    show(act, state.kind === "connecting" || state.kind === "reconnecting");
    show(again, state.kind === "closed" && state.refusal === null);
    element.dataset.kind = state.kind;
    if (state.kind === "open" || state.kind === "idle") {
      reveal(false);
      if (wasDown) announce("Connected again");
      wasDown = false;
    } else if (state.kind === "closed") {
      reveal(state.refusal === null);
    } else if (element.hidden && timer === null) {
      timer = setTimeout(() => {
        reveal(true);
        if (state.kind === "reconnecting") {
          wasDown = true;
          alert(text.textContent);
        }
      }, PATIENCE_MS);
    }
  };
  const warn = (words) => {
    say(warning, words);
    show(warning, words !== "");
  };
  return { element: el("div", { class: "line" }, element, warning), update, warn };
}

function lineText(state, app) {
  switch (state.kind) {
    case "connecting":
      return state.attempts === 0 ? "Connecting…" : "The server does not answer. Trying again…";
    case "reconnecting": {
      const why =
        state.why === "going away" ? "The server is restarting. Coming back…" : "Connection lost. Coming back…";
      const lies = [...app.tables.values()].some((table) => Object.keys(table.you?.bets ?? {}).length > 0);
      return lies ? `${why} Your bets stay on the table and play out.` : why;
    }
    case "closed":
      return `Disconnected: ${state.why}`;
    default:
      return "";
  }
}
