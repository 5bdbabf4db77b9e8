// The moves of a game, and the way back and forth through them.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { GameMove } from "../api";
import { t } from "../texts";
import { IconButton } from "../ui/Icon";
import { nameOf } from "../ui/Name";
import type { Line } from "./useGame";

interface Travel {
  at: number; // how many moves are behind the position on show
  last: number;
  to(ply: number): void;
}

const steps: [name: string, label: string, to: (x: Travel) => number][] = [
  ["first", t.watch.first, () => 0],
  ["back", t.watch.back1, (x) => x.at - 1],
  ["forward", t.watch.forward1, (x) => x.at + 1],
  ["last", t.watch.last, (x) => x.last],
];

/** noteOf names who has made a move. */
export function noteOf(move: GameMove | undefined): string | undefined {
  return move && nameOf(move);
}

export function MoveList({ line, travel, note }: { line: Line; travel: Travel; note?(ply: number): string | undefined }) {
  const list = useRef<HTMLOListElement>(null);
  useLayoutEffect(() => {
    // Before the next paint, so that a quick second key counts from where the first one led.
    const onKey = (e: KeyboardEvent) => {
      if ((e.target as HTMLElement).closest("input,textarea,dialog,[role=grid],.wall")) return;
      if (e.key === "ArrowLeft" && travel.at > 0) travel.to(travel.at - 1);
      else if (e.key === "ArrowRight" && travel.at < travel.last) travel.to(travel.at + 1);
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  useEffect(() => {
    const l = list.current;
    const now = l?.querySelector<HTMLElement>("[aria-current]");
    if (l && now) l.scrollTop = now.offsetTop - l.clientHeight / 2;
  }, [travel.at, line.moves.length]);
  return (
    <section class="card moves" aria-labelledby="moves">
      <h2 id="moves">{t.watch.moves}</h2>
      {line.moves.length === 0 ? (
        <p class="faint">{t.watch.noMoves}</p>
      ) : (
        <ol ref={list} tabIndex={0} aria-labelledby="moves">
          {line.moves.map((m, i) => (
            <li key={i} class={i % 2 === 0 ? "white" : "black"}>
              {i % 2 === 0 && <span class="faint">{i / 2 + 1}.</span>}
              <button type="button" title={note?.(i + 1)} aria-current={travel.at === i + 1 ? "step" : undefined} onClick={() => travel.to(i + 1)}>
                {m.san}
              </button>
            </li>
          ))}
        </ol>
      )}
      <div class="travel">
        {steps.map(([name, label, to]) => {
          const ply = to(travel);
          const idle = ply < 0 || ply > travel.last || ply === travel.at; // not disabled: that would lose the focus, and the next key
          return <IconButton key={name} name={name} label={label} aria-disabled={idle} onClick={() => idle || travel.to(ply)} />;
        })}
      </div>
    </section>
  );
}
