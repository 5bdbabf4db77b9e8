// Who has moved in a game.

import type { GameMove, Who } from "./api";

/** moversOf lists who has moved, each player once: who moved last comes first. */
export function moversOf(moves: readonly GameMove[]): Who[] {
  const all = new Map<string, Who>();
  for (const m of [...moves].reverse()) {
    const key = m.handle ?? `guest ${m.session}`; // no handle has a space
    if ((m.handle || m.session) && !all.has(key)) all.set(key, m);
  }
  return [...all.values()];
}
