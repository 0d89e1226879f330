/** The first thing a stranger sees: a name, or at a house that knows its patrons a token, and in. */

import { drawCard } from "../draw/card.js";
import { button, el, say } from "./dom.js";

const ASKED = {
  name: {
    label: "Your name at the tables",
    help: "1 to 24 characters. Everybody at the table sees it.",
    empty: "A name is needed",
    field: { autocomplete: "nickname", maxlength: "24" },
  },
  token: {
    label: "Your token",
    help: "This house knows its patrons: come by the link of its own site, or paste the token that you were given.",
    empty: "A token is needed",
    field: { autocomplete: "off", maxlength: "4096", type: "password" },
  },
};

/** `enter(text)` is called with what was typed; `notice` says why this is shown to somebody who had been here. */
export function welcomeView(asked, enter, notice = "") {
  const { label, help, empty, field } = ASKED[asked];
  const input = el("input", { id: asked, name: asked, required: true, "aria-describedby": "welcome-help", ...field });
  const problem = el("p", { class: "problem", role: "alert" }, notice);
  const form = el(
    "form",
    { class: "welcome-form", novalidate: true },
    el("label", { for: asked }, label),
    input,
    el("p", { id: "welcome-help", class: "muted" }, help),
    problem,
    button("Come in", { class: "primary", type: "submit" }, () => {}, { repeats: true }),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim() === "") {
      say(problem, empty);
      input.focus();
    } else {
      say(problem, "");
      enter(input.value.trim());
    }
  });
  const cards = ["9h", "Ks"].map((card) =>
    el("span", { class: "welcome-card", "aria-hidden": "true" }, drawCard(card)),
  );
  return el(
    "main",
    { class: "welcome", id: "main" },
    el("div", { class: "welcome-cards" }, cards),
    el("h1", {}, "Punto"),
    el("p", { class: "lead" }, "Baccarat tables, dealt to everybody in the same moment. Every round can be checked."),
    form,
  );
}
