/** Starts the page. */

import { App } from "./app.js";

const address = new URL("/", location.href);
address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
address.hash = "";
new App(document.getElementById("app"), address.href).start();
