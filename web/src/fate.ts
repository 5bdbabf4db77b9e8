// What became of a move.

import type { Game } from "./api";
import { fromUCI, san, start } from "./chess";
import type { Fate, Step } from "./standing";

/** fateOf reads from a game what became of a move in it. */
export function fateOf(step: Step, game: Game): Fate {
  const ply = step.ply ?? 0;
  const moves = game.moves.length - ply;
  let position = start(game.chess960);
  let reply: string | undefined;
  for (const m of game.moves.slice(0, ply + 1)) {
    const move = fromUCI(position, m.uci);
    if (!move) break;
    if (m.ply === ply + 1) reply = san(position, move);
    position = position.play(move);
  }
  if (!game.result) return reply ? { state: "answered", reply, moves } : { state: "waits" };
  const { winner } = game.result;
  const mine = ply % 2 === 1 ? "white" : "black";
  return { state: winner === "draw" ? "draw" : winner === mine ? "won" : "lost", reply, moves };
}
