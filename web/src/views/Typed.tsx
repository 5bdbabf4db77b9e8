// Moves by typing them, and keys that say what others see: the last move, the
// pieces, the clocks.

import { useEffect, useRef, useState } from "preact/hooks";
import { piecesOf } from "../board/names";
import { type Move, Position, san, typed } from "../chess";
import type { Board } from "../session/board";
import { t } from "../texts";
import { lastMoveOf } from "./Moment";

export function Typed({ board, position, onMove }: { board: Board; position: Position; onMove: ((m: Move) => void) | null }) {
  const input = useRef<HTMLInputElement>(null);
  const since = useRef(Date.now());
  const [said, say] = useState("");
  useEffect(() => {
    since.current = Date.now();
    say("");
  }, [board.id]);

  const tell: Record<string, () => string> = {
    l: () => lastMoveOf(board, position) || t.play.noLastMove,
    p: () => piecesOf(position),
    c: () => t.play.clocks(position.number, Math.round((Date.now() - since.current) / 1000)),
  };
  const speak = (key: string) => {
    const text = tell[key]();
    say((before) => (before === text ? text + "\u00a0" : text)); // the same again is read again
  };

  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey || !Object.hasOwn(tell, e.key) || (e.target as HTMLElement).closest("input,textarea,dialog,[role=dialog]")) return;
      speak(e.key);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });

  const onSubmit = (e: Event) => {
    e.preventDefault();
    const text = input.current!.value.trim();
    if (Object.hasOwn(tell, text)) speak(text);
    else if (text && onMove) {
      const moves = typed(position, text);
      if (moves.length === 1) onMove(moves[0]);
      else say(moves.length === 0 ? t.play.typedNone(text) : t.play.typedMany(moves.map((m) => san(position, m)).join(", ")));
    }
    input.current!.value = "";
  };

  return (
    <form class="typed" onSubmit={onSubmit}>
      <label>
        {t.play.typed}
        <input ref={input} type="text" autocomplete="off" autocapitalize="off" spellcheck={false} maxLength={12} aria-describedby="typed-hint" enterkeyhint="go" />
      </label>
      <span id="typed-hint" class="unseen">
        {t.play.typedHint}
      </span>
      <span role="status">{said}</span>
    </form>
  );
}
