// When a connection may be dead without a close event: the machine or the page
// slept, or the network has changed.

const interval = 5_000; // ms between two looks at the clock
const gap = 15_000; // ms between two looks: the machine slept

/** events are those after which the connection may be dead. */
const events: [EventTarget, string][] = [
  [window, "online"],
  [window, "offline"], // a server in the local network may still be there
  [window, "pageshow"], // from the back/forward cache
  [document, "resume"],
  [document, "visibilitychange"],
];

/** Network is the Network Information API of some browsers. It changes with every estimate of speed; only the type matters here. */
type Network = EventTarget & { type?: string };

/** onWaking calls back after each of the events, and when the clock has jumped. */
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
  }, interval);
}
