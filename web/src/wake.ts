// When a connection may have died without a word: the machine or the page slept,
// or the network is another one.

const look = 5_000; // ms between two looks at the clock
const gap = 15_000; // ms between two looks that only sleep explains

/** events after which nobody knows whether the server is still there. */
const events: [EventTarget, string][] = [
  [window, "online"],
  [window, "offline"], // a server in the same house may be there all the same
  [window, "pageshow"], // out of the cache of the back button
  [document, "resume"],
  [document, "visibilitychange"],
];

/** Network is what some browsers say of it; it changes with every estimate, of which only the kind counts. */
type Network = EventTarget & { type?: string };

/** onWaking calls back after each of them, and when the clock has jumped. */
export function onWaking(wake: () => void): void {
  const visible = () => document.visibilityState === "visible" && wake();
  for (const [target, name] of events) target.addEventListener(name, visible);
  const network = (navigator as { connection?: Network }).connection;
  let kind = network?.type;
  network?.addEventListener("change", () => {
    if (network.type !== kind) visible();
    kind = network.type;
  });
  let last = Date.now();
  setInterval(() => {
    const now = Date.now();
    if (now - last > gap || now < last) visible();
    last = now;
  }, look);
}
