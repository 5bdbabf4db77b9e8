// What became of the player's moves: the trail that the server keeps, and a look
// after its boards, one at a time, the newest first.

import { api, type Game, type Kept } from "./api";
import { session, tell } from "./app";
import { fateOf, joined, lastHere, newlyLost, type News, newsSince, over } from "./fate";
import { Store } from "./session/store";
import { sounds } from "./sound";
import { maxSteps, past, type Step } from "./standing";
import { t } from "./texts";

const every = 4_000; // ms between two looks
const awayAfter = 120_000; // ms without the page that count as being away
const looksAfter = 24; // steps that are looked after
const recallPauses = [600, 1500, 4000]; // ms before the server is asked for a trail that it does not have yet

export const news = new Store<News | null>(null);

/** kept is the trail as the server last told it. */
export const kept = new Store<Kept>({ boards: [] });

/** tellLosses tells of boards that are lost now. */
function tellLosses(before: readonly Step[], now: readonly Step[]): void {
  for (const s of newlyLost(before, now)) {
    tell(t.trail.lostTold(s.board, s.san));
    sounds.loss();
  }
}

/** recall asks for the trail that the server keeps, and joins it with that of this browser. It tells of losses of moves that were made on this page. */
export async function recall(): Promise<Kept> {
  const { token } = session.status.value;
  const found = await api.trail();
  if (token !== session.status.value.token) return { boards: [] }; // somebody else by now
  kept.set(found);
  const { steps, won } = joined(past.value, found);
  tellLosses(past.value.steps.filter((s) => s.at >= performance.timeOrigin), steps);
  past.patch({ steps: steps.slice(0, maxSteps), won: Object.fromEntries(Object.entries(won).slice(-maxSteps)) });
  return found;
}

/** settleFate writes what became of a step, and tells what is worth it. */
function settleFate(board: string, game: Game): void {
  const steps = past.value.steps.map((s) => (s.board !== board || over(s.fate) || !s.ply ? s : { ...s, fate: fateOf(s, game) }));
  tellLosses(past.value.steps, steps);
  past.patch({ steps });
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

/** followToken recalls the trail of every new token: when the page is opened, and after a login. */
function followToken(left: number, whenKnown: () => void): void {
  const opened = Date.now();
  let known = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ask = async (since: number, pauses: readonly number[]) => {
    const found = await recall().catch(() => null);
    const away = found ? lastHere(found, since, opened) : 0;
    if (found && away > 0 && Date.now() - away > awayAfter) news.set(newsSince(away, found));
    if (found || pauses.length === 0) whenKnown();
    if (!found?.boards.length && pauses.length > 0) timer = setTimeout(ask, pauses[0], since, pauses.slice(1));
  };
  const follow = () => {
    const { token, link, caps } = session.status.value;
    if (link !== "online" || caps === 0 || token === known) return;
    const since = known === "" ? left : 0; // a login: only other sessions tell when they were here
    known = token;
    news.set(null);
    clearTimeout(timer);
    timer = setTimeout(ask, recallPauses[0], since, recallPauses.slice(1));
  };
  session.status.subscribe(follow);
  follow();
}

/** followTrail looks after the trail while the page is seen. */
export function followTrail(): void {
  const looked = new Map<string, number>();
  const stay = () => past.patch({ seen: Date.now() });
  addEventListener("pagehide", stay);
  let timer: ReturnType<typeof setTimeout>;
  let known = false; // what happened before the page was opened is not told as if it happened now
  const look = async () => {
    const board = next(looked);
    const visible = document.visibilityState === "visible" && session.status.value.link === "online";
    if (board && visible) {
      looked.set(board, Date.now());
      await api.game(board).then((g) => settleFate(board, g), () => {});
    }
    if (visible) stay();
    const busy = board && !looked.has(next(looked) ?? board); // what was not looked at yet does not wait
    timer = setTimeout(look, busy ? 300 : every);
  };
  followToken(past.value.seen, () => {
    if (known) return;
    known = true;
    timer = setTimeout(look, 200);
    soon = () => {
      clearTimeout(timer);
      timer = setTimeout(look, 500); // until the database has it
    };
  });
}
