// The things that a page has one of: the session, the watcher, messages to the
// player, the address.

import { readFrom } from "./http";
import { Session } from "./session/session";
import { keys } from "./session/storage";
import { Store } from "./session/store";
import { Watcher } from "./session/watch";
import { onWaking } from "./wake";

const scheme = location.protocol === "https:" ? "wss" : "ws";

/** path is where the server's WebSocket is, as the server wrote it into the page. */
const path = document.querySelector<HTMLMetaElement>('meta[name="wamble-socket"]')?.content || "/ws";

/** at is another machine's address, on the port of the page. */
const at = (host: string) => (host ? (host.includes(":") ? `[${host}]` : host) + (location.port && `:${location.port}`) : location.host);

export const session = new Session((host) => new WebSocket(`${scheme}://${at(host)}${path}`), localStorage);
readFrom(() => (session.caller.host ? `${location.protocol}//${at(session.caller.host)}` : ""));
export const watcher = new Watcher(session);

interface Toast {
  id: number;
  text: string;
  kind: "info" | "good" | "bad";
  stays: boolean; // until it is closed
}

export const toasts = new Store<readonly Toast[]>([]);
let toastId = 0;

/** tell shows a message for a while, or until it is closed. */
export function tell(text: string, kind: Toast["kind"] = "info", stays = false): void {
  if (!text) return;
  const toast = { id: ++toastId, text, kind, stays };
  const before = toasts.value.filter((x) => !stays || x.text !== text);
  toasts.set([...before.slice(-3), toast]);
  if (!stays) setTimeout(() => untell(toast.id), kind === "info" ? 5000 : 8000);
}

export function untell(id: number): void {
  toasts.set(toasts.value.filter((x) => x.id !== id));
}

type Route = { view: "play" } | { view: "watch" } | { view: "focus"; board: string } | { view: "you" } | { view: "game"; board: string } | { view: "embed"; board: string } | { view: "trail" } | { view: "finished" } | { view: "map" } | { view: "at"; time: string } | { view: "lost" };

function parseRoute(path: string): Route {
  const [, first, second, third] = path.split("/");
  const board = /^\d{1,18}$/.test(second ?? "");
  if (first === "") return { view: "play" };
  if (third !== undefined) return { view: "lost" };
  if (first === "watch" && board) return { view: "focus", board: second };
  if (first === "watch" && !second) return { view: "watch" };
  if (first === "board" && board) return { view: "game", board: second };
  if (first === "embed" && board) return { view: "embed", board: second };
  if (first === "you" && !second) return { view: "you" };
  if (first === "trail" && !second) return { view: "trail" };
  if (first === "map" && !second) return { view: "map" };
  if (first === "at" && second && !Number.isNaN(Date.parse(decodeURIComponent(second)))) return { view: "at", time: decodeURIComponent(second) };
  if (first === "finished" && !second) return { view: "finished" };
  return { view: "lost" };
}

export const route = new Store<Route>(parseRoute(location.pathname));

export function go(path: string): void {
  if (path !== location.pathname) history.pushState(null, "", path);
  route.set(parseRoute(path));
  window.scrollTo(0, 0);
}

addEventListener("popstate", () => route.set(parseRoute(location.pathname)));

/** begin connects, and keeps the session connected through sleep, network changes and other tabs. */
export function begin(): void {
  const follow = (r: Route) => session.wantBoard(r.view === "play");
  follow(route.value);
  route.subscribe(follow);
  session.start();
  onWaking(() => session.caller.wake());
  addEventListener("pagehide", () => session.leave());
  for (const sign of ["pointermove", "pointerdown", "keydown", "wheel"]) addEventListener(sign, () => session.alive(), { passive: true, capture: true });
  addEventListener("storage", (e) => e.key === keys.tab && session.yieldTo(e.newValue));
}
