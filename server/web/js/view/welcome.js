/** The first thing a stranger sees: a name, and in. */

import { button, el } from "./dom.js";
import { drawCard } from "../draw/card.js";

/** `enter(name)` is called with what was typed; `notice` says why this is shown to somebody who had been here. */
export function welcomeView(enter, notice = "") {
  const name = el("input", {
    id: "name",
    name: "name",
    autocomplete: "nickname",
    maxlength: "24",
    required: true,
    "aria-describedby": "name-help",
  });
  const problem = el("p", { class: "problem", role: "alert" }, notice);
  const form = el(
    "form",
    { class: "welcome-form", novalidate: true },
    el("label", { for: "name" }, "Your name at the tables"),
    name,
    el("p", { id: "name-help", class: "muted" }, "1 to 24 characters. Everybody at the table sees it."),
    problem,
    button("Come in", { class: "primary", type: "submit" }, () => {}, { repeats: true }),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (name.value.trim() === "") {
      problem.textContent = "A name is needed";
      name.focus();
      return;
    }
    enter(name.value);
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
