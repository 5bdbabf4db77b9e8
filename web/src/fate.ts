// What became of moves.

import type { Game, Kept, KeptBoard } from "./api";
import { fromUCI, san, start } from "./chess";
import type { Fate, History, Step } from "./standing";

/** News is what happened to the trail while the player was away. */
export interface News {
  answered: number;
  won: number;
  lost: number;
  drawn: number;
}

/** ending is how a game ended for who made the move of a ply. */
function ending(winner: string, ply: number): "won" | "lost" | "draw" {
  return winner === "draw" ? "draw" : winner === (ply % 2 === 1 ? "white" : "black") ? "won" : "lost";
}

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
  return { state: ending(game.result.winner, ply), reply, moves };
}

/** pieceOf is the FEN letter of what moved. */
function pieceOf(move: string, ply: number): string {
  const letter = /^[KQRBN]/.exec(move)?.[0] ?? (move.startsWith("O") ? "K" : "P");
  return ply % 2 === 1 ? letter : letter.toLowerCase();
}

/** stepsOf is the moves on a board that the server keeps. */
function stepsOf(b: KeptBoard): Step[] {
  return b.moves.map(({ ply, san, at, reply }) => {
    const state = b.result ? ending(b.result.winner, ply) : reply ? "answered" : "waits";
    const fate: Fate = state === "waits" ? { state } : { state, reply, moves: b.plies - ply };
    return { board: String(b.board), san, piece: pieceOf(san, ply), at: Date.parse(at), ply, fate };
  });
}

/** over reports whether a game has ended for a move. */
export const over = (f: Fate | undefined) => f?.state === "won" || f?.state === "lost" || f?.state === "draw";

const key = (s: Step) => `${s.board}/${s.ply}`;

/** newlyLost is the moves that were open before and are lost now, one for each board. */
export function newlyLost(before: readonly Step[], now: readonly Step[]): Step[] {
  const open = new Set(before.filter((s) => !over(s.fate)).map(key));
  const lost = now.filter((s) => s.fate?.state === "lost" && open.has(key(s)));
  return lost.filter((s) => s === lost.find((x) => x.board === s.board));
}

/** joined is what a browser knows of the trail together with what the server keeps, which is newer, but for an end that the browser has just seen. */
export function joined({ steps, won }: Pick<History, "steps" | "won">, kept: Kept): Pick<History, "steps" | "won"> {
  const ended = new Map(steps.filter((s) => over(s.fate)).map((s) => [key(s), s.fate]));
  const theirs = kept.boards.flatMap(stepsOf).map((s) => (over(s.fate) ? s : { ...s, fate: ended.get(key(s)) ?? s.fate }));
  const known = new Set(theirs.map(key));
  const points = kept.boards.filter((b) => b.points).map((b) => [String(b.board), String(b.points)]);
  return { steps: [...steps.filter((s) => !known.has(key(s))), ...theirs].sort((a, b) => b.at - a.at), won: { ...won, ...Object.fromEntries(points) } };
}

/** lastHere is when the player was here before the page was opened: since then at least, or with another session, or when they moved last. */
export function lastHere(kept: Kept, since: number, opened: number): number {
  const moved = kept.boards.flatMap((b) => b.moves.map((m) => Date.parse(m.at))).filter((at) => at < opened);
  return Math.max(since, kept.seen ? Date.parse(kept.seen) : 0, ...moved);
}

/** newsSince is what happened since a time to moves that were made until then, once for each board; null: nothing. */
export function newsSince(left: number, kept: Kept): News | null {
  const news: News = { answered: 0, won: 0, lost: 0, drawn: 0 };
  for (const { moves, result } of kept.boards) {
    const before = moves.filter((m) => Date.parse(m.at) <= left);
    const last = before.at(-1);
    if (!last) continue;
    if (result) {
      const end = ending(result.winner, last.ply);
      if (Date.parse(result.finished) > left) news[end === "draw" ? "drawn" : end]++;
    } else if (before.some((m) => m.answered && Date.parse(m.answered) > left)) news.answered++;
  }
  return Object.values(news).some(Boolean) ? news : null;
}
