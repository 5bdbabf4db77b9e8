// What became of the player's moves: it looks after the boards of the trail, one
// at a time, the newest first.

import { api, type Game } from "./api";
import { session, tell } from "./app";
import { fateOf } from "./fate";
import { Store } from "./session/store";
import { sounds } from "./sound";
import { type Fate, past } from "./standing";
import { t } from "./texts";

const every = 4_000; // ms between two looks
const awayAfter = 120_000; // ms without the page that count as being away
const looksAfter = 24; // steps that are looked after

/** News is what happened to the trail while the player was away. */
export interface News {
  answered: number;
  won: number;
  lost: number;
  drawn: number;
}

export const news = new Store<News | null>(null);

const over = (f: Fate | undefined) => f?.state === "won" || f?.state === "lost" || f?.state === "draw";

/** settleFate writes what became of a step, and tells what is worth it. */
function settleFate(board: string, game: Game, away: boolean): void {
  let told = false;
  const steps = past.value.steps.map((s) => {
    if (s.board !== board || over(s.fate) || !s.ply) return s;
    const fate = fateOf(s, game);
    const was = s.fate?.state ?? "waits";
    if (fate.state !== was && !told) {
      told = true;
      if (away) count(fate.state);
      else if (fate.state === "lost") {
        tell(t.trail.lostTold(board, s.san));
        sounds.loss();
      }
    }
    return { ...s, fate };
  });
  past.patch({ steps });
}

function count(state: Fate["state"]): void {
  const n = news.value ?? { answered: 0, won: 0, lost: 0, drawn: 0 };
  const key = state === "draw" ? "drawn" : state;
  if (key !== "waits") news.set({ ...n, [key]: n[key] + 1 });
}

const urgent = new Set<string>();
let soon: () => void = () => {};

/** hasten looks at a board next: something has happened there. */
export function hasten(board: string): void {
  urgent.add(board);
  soon();
}

/** next is the board to look at: the one that was looked at longest ago, of those whose game goes on. */
function next(looked: Map<string, number>): string | undefined {
  for (const board of urgent) {
    urgent.delete(board);
    if (past.value.steps.some((s) => s.board === board && !over(s.fate))) return board;
  }
  const open = past.value.steps.slice(0, looksAfter).filter((s) => s.ply && !over(s.fate));
  return [...new Set(open.map((s) => s.board))].sort((a, b) => (looked.get(a) ?? 0) - (looked.get(b) ?? 0))[0];
}

/** followTrail looks after the trail while the page is seen. */
export function followTrail(): void {
  const looked = new Map<string, number>();
  const left = past.value.seen;
  const opened = Date.now();
  const back = left > 0 && opened - left > awayAfter;
  const stay = () => past.patch({ seen: Date.now() });
  addEventListener("pagehide", stay);
  let timer: ReturnType<typeof setTimeout>;
  const look = async () => {
    const board = next(looked);
    const visible = document.visibilityState === "visible" && session.status.value.link === "online";
    if (board && visible) {
      const first = !looked.has(board);
      looked.set(board, Date.now());
      const away = back && first && past.value.steps.some((s) => s.board === board && s.at < left);
      await api.game(board).then((g) => settleFate(board, g, away), () => {});
    }
    if (visible) stay();
    const busy = board && !looked.has(next(looked) ?? board); // what was not looked at yet does not wait
    timer = setTimeout(look, busy ? 300 : every);
  };
  timer = setTimeout(look, 800);
  soon = () => {
    clearTimeout(timer);
    timer = setTimeout(look, 500); // until the database has it
  };
}
