// How a handoff went, in words.

import type { Handoff } from "./ask";
import { h } from "./texts";

/** gapOf says how a handoff went: for how long nothing was read. */
export function gapOf(d: Handoff): string {
  if (d.failure) return h.handoffBack(d.failure);
  const ms = 1000 * d.frozen;
  return h.handoffGap(ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${d.frozen.toFixed(1)} s`, d.from, d.to);
}
