// The choice of a piece when a pawn arrives.

import { useEffect, useRef } from "preact/hooks";
import type { Color } from "../chess";
import { t } from "../texts";
import { Piece } from "./PieceDefs";

export function Promotion(props: { color: Color; column: string; fromTop: boolean; onChoose(kind: string): void; onCancel(): void }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.querySelector("button")?.focus(), []);
  const kinds = props.fromTop ? [..."qnrb"] : [..."brnq"];

  const onKeyDown = (e: KeyboardEvent) => {
    const key = e.key.toLowerCase();
    const buttons = [...box.current!.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    if (key === "escape") props.onCancel();
    else if ("qrbn".includes(key)) props.onChoose(key);
    else if (key === "arrowdown" || key === "arrowup") buttons[(at + (key === "arrowdown" ? 1 : 3)) % 4].focus();
    else if (key === "tab") buttons[(at + (e.shiftKey ? 3 : 1)) % 4].focus();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };

  return (
    <div class="promotion-veil" onClick={props.onCancel}>
      <div class="promotion-lane" style={{ transform: props.column.replace(/, .*/, ", 0)") }}>
        <div
          ref={box}
          role="dialog"
          aria-modal="true"
          aria-label={t.play.promote}
          class={`promotion ${props.fromTop ? "hanging" : "standing"}`}
          onKeyDown={onKeyDown}
          onClick={(e) => e.stopPropagation()}
        >
          {kinds.map((kind) => (
            <button key={kind} type="button" data-kind={kind} aria-label={t.play.pieces[kind]} onClick={() => props.onChoose(kind)}>
              <Piece piece={props.color === "w" ? kind.toUpperCase() : kind} />
            </button>
          ))}
        </div>
      </div>
    </div>
  );
}
