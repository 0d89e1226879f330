/** A sheet over the page: one at a time, with a title and a way out; the browser keeps the focus in it. */

import { button, el } from "./dom.js";

/** Open a sheet with `content`; `close()` of what is returned ends it. `onClose` is called however it ends. */
export function openSheet(title, content, { onClose = null, kind = "" } = {}) {
  const heading = el("h2", { id: "sheet-title" }, title);
  const dialog = el("dialog", { class: `sheet ${kind}`, "aria-labelledby": "sheet-title" });
  const out = button("Close", { class: "quiet" }, () => dialog.close());
  dialog.append(
    el("div", { class: "sheet-head" }, heading, out),
    el("div", { class: "sheet-body", tabindex: "0" }, content),
  );
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => {
    dialog.remove();
    onClose?.();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
