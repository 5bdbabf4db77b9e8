// What the server says in words, in the words of the player's language.

import type { Denied } from "./session/connection";
import { t } from "./texts";

/** because is why the server does not do something: its reason, or that it does not allow it. */
export function because(reason: string): string {
  return t.reasons[reason] ?? t.reasons[/^move rejected \((\d)/.exec(reason)?.[1] ?? ""] ?? (reason || t.notAllowed);
}

/** refused is why there is no session for the player. */
export function refused(why: Denied): string {
  const [, cause] = /^banned: (.*)/.exec(why.reason) ?? [];
  if (cause || why.reason.startsWith("you are banned")) return t.link.banned(cause ?? "");
  return `${t.link.refused} ${because(why.reason)}.`;
}

/** holds is why a request waits, and what becomes of the move meanwhile. */
export function holds(reason: string, moved: boolean): string {
  return `${because(reason)}. ${moved ? t.link.heldMove : ""}`.replace(/^./, (c) => c.toUpperCase());
}

/** points is what a payout says in numbers: how many points, and in how many games. */
export function points(text: string): { points: string; games: number } {
  const [, points, games] = /([\d.]+) points(?: in (\d+) games)?/.exec(text) ?? [];
  return { points: points ?? "", games: Number(games ?? 1) };
}
