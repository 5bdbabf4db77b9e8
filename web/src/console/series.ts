// Charts over time are made of differences between two looks.

import type { Vitals } from "./ask";

export interface Series {
  times: number[]; // s
  moves: Map<string, number[]>; // per second, by profile
  queue: Map<string, number[]>;
  median: (number | null)[]; // ms, of all profiles
  p99: (number | null)[];
}

const kept = 300; // looks

export const empty = (): Series => ({ times: [], moves: new Map(), queue: new Map(), median: [], p99: [] });

/** quantile is the upper end of the bucket in which a share of the values lies. */
export function quantile(counts: readonly number[], bounds: readonly number[], share: number): number | null {
  const total = counts.reduce((a, b) => a + b, 0);
  if (total === 0) return null;
  let seen = 0;
  for (let i = 0; i < counts.length; i++) {
    seen += counts[i];
    if (seen >= share * total) return bounds[Math.min(i, bounds.length - 1)];
  }
  return bounds[bounds.length - 1];
}

/** add appends what happened between two looks. */
export function add(s: Series, before: Vitals, now: Vitals): Series {
  const seconds = Math.max(0.001, (now.at - before.at) / 1000);
  const was = new Map(before.profiles.map((p) => [p.name, p]));
  const counts = now.bounds.map(() => 0).concat(0);
  const push = <T>(list: readonly T[] | undefined, v: T, pad: T): T[] => {
    const full = list ?? Array(s.times.length).fill(pad);
    return [...full, v].slice(-kept);
  };
  const next: Series = { ...empty(), times: push(s.times, now.at / 1000, 0) };
  for (const p of now.profiles) {
    const old = was.get(p.name);
    const fresh = !old || p.moves < old.moves; // it has started again
    next.moves.set(p.name, push(s.moves.get(p.name), fresh ? 0 : (p.moves - old.moves) / seconds, 0));
    next.queue.set(p.name, push(s.queue.get(p.name), p.queue, 0));
    p.latency.forEach((n, i) => (counts[i] += fresh ? 0 : Math.max(0, n - old.latency[i])));
  }
  const ms = (share: number) => {
    const q = quantile(counts, now.bounds, share);
    return q === null ? null : 1000 * q;
  };
  next.median = push(s.median, ms(0.5), null);
  next.p99 = push(s.p99, ms(0.99), null);
  return next;
}
