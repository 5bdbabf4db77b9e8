// The board that is played on: a grid of 64 squares that can be focused, with
// the pieces above it. Moves by dragging, by two clicks or touches, or by keys.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { castlingSquares, type Color, colorOf, type Move, Position, squareName } from "../chess";
import { reducedMotion } from "../settings";
import { t } from "../texts";
import { type Arrow, Arrows } from "./Arrows";
import { follow, type Man } from "./men";
import { pieceName } from "./names";
import { Piece } from "./PieceDefs";
import { Promotion } from "./Promotion";
import { useDrag } from "./useDrag";

interface BoardProps {
  position: Position;
  bottom: Color;
  label: string;
  mover: Color | null; // whose pieces may be moved
  lastMove: readonly [number, number] | null;
  arrows?: readonly Arrow[];
  focus?: boolean; // when it appears
  arrives?: boolean; // it appears with its last move being made
  onMove?(m: Move): void;
}

/** targets are the squares on which dropping a piece means a move. */
function targets(moves: readonly Move[]): Map<number, Move[]> {
  const all = new Map<number, Move[]>();
  for (const m of moves) all.set(m.to, [...(all.get(m.to) ?? []), m]);
  for (const m of moves) {
    if (!m.castling) continue;
    const { kingTo } = castlingSquares(m.from, m.to);
    if (kingTo !== m.from && !all.has(kingTo)) all.set(kingTo, [m]);
  }
  return all;
}

export function BoardView(props: BoardProps) {
  const { position, bottom, mover } = props;
  const [selected, select] = useState<number | null>(null);
  const [cursor, setCursor] = useState(bottom === "w" ? 12 : 52);
  const [choice, choose] = useState<Move[] | null>(null);
  const men = useRef<Man[]>([]);
  const grid = useRef<HTMLDivElement>(null);
  men.current = useMemo(() => follow(men.current, position), [position]);
  const moves = useMemo(() => (mover === position.turn ? position.legal() : []), [position, mover]);
  const reach = useMemo(() => (selected === null ? new Map<number, Move[]>() : targets(moves.filter((m) => m.from === selected))), [selected, moves]);

  useLayoutEffect(() => {
    const last = props.arrives && !reducedMotion() ? props.lastMove : null;
    const man = last && grid.current?.parentElement?.querySelector(`[data-at="${squareName(last[1])}"]`);
    if (last) man?.animate([{ transform: place(last[0], bottom) }, { transform: place(last[1], bottom) }], { duration: 420, delay: 220, fill: "backwards", easing: "ease-in-out" });
    if (props.focus) grid.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
  }, []);
  useLayoutEffect(() => {
    select(null);
    choose(null);
  }, [position, mover]);

  const movable = (s: number) => mover !== null && position.at(s) !== "" && colorOf(position.at(s)) === mover && moves.some((m) => m.from === s);

  const attempt = (from: number, to: number): boolean => {
    const found = targets(moves.filter((m) => m.from === from)).get(to);
    if (!found) return false;
    if (found.length > 1) choose(found);
    else props.onMove?.(found[0]);
    return true;
  };

  const activate = (s: number) => {
    if (selected !== null && selected !== s && attempt(selected, s)) return;
    select(movable(s) && selected !== s ? s : null);
  };

  const drag = useDrag(grid, bottom, {
    press: (s) => {
      setCursor(s);
      const was = selected === s;
      if (movable(s) && (selected === null || !reach.has(s))) select(s);
      return { movable: movable(s) && !reach.has(s), was };
    },
    drop: (from, to) => {
      if (!attempt(from, to)) select(from);
    },
    click: (s, was) => {
      if (was) select(null);
      else if (selected !== null && selected !== s && reach.has(s)) attempt(selected, s);
      else if (!movable(s)) select(null);
    },
  });

  const onKeyDown = (e: KeyboardEvent) => {
    const flip = bottom === "w" ? 1 : -1;
    const by: Record<string, number> = { ArrowUp: 8 * flip, ArrowDown: -8 * flip, ArrowLeft: -flip, ArrowRight: flip };
    if (e.key in by) {
      const to = cursor + by[e.key];
      const sideways = Math.abs(by[e.key]) === 1;
      if (to >= 0 && to < 64 && (!sideways || to >> 3 === cursor >> 3)) {
        setCursor(to);
        grid.current?.querySelector<HTMLElement>(`[data-square="${squareName(to)}"]`)?.focus();
      }
    } else if (e.key === "Enter" || e.key === " ") activate(cursor);
    else if (e.key === "Escape") select(null);
    else return;
    e.preventDefault();
  };

  const king = position.inCheck ? position.king(position.turn) : -1;
  const ranks = bottom === "w" ? [7, 6, 5, 4, 3, 2, 1, 0] : [0, 1, 2, 3, 4, 5, 6, 7];
  const files = [...ranks].reverse();

  const square = (s: number) => {
    const piece = position.at(s);
    const isTarget = reach.has(s);
    const words = [squareName(s), pieceName(piece) || t.play.empty];
    if (selected === s) words.push(t.play.selected);
    if (isTarget) words.push(t.play.target);
    if (s === king) words.push(t.play.check);
    const classes = ["square", (s + (s >> 3)) % 2 === 0 ? "dark" : "light"];
    if (props.lastMove?.includes(s)) classes.push("last");
    if (selected === s) classes.push("selected");
    if (isTarget) classes.push(piece ? "capture" : "target");
    if (s === king) classes.push("check");
    return (
      <div
        key={s}
        role="gridcell"
        class={classes.join(" ")}
        data-square={squareName(s)}
        aria-label={words.join(", ")}
        aria-selected={selected === s}
        tabIndex={cursor === s ? 0 : -1}
        onFocus={() => setCursor(s)}
      />
    );
  };

  return (
    <div class={`board ${mover ? "mine" : ""}`}>
      <div ref={grid} class="squares" role="grid" aria-label={props.label} onKeyDown={onKeyDown} {...drag.handlers}>
        {ranks.map((r) => (
          <div role="row" class="row" key={r}>
            {files.map((f) => square(8 * r + f))}
          </div>
        ))}
      </div>
      <div class="names" aria-hidden="true">
        {ranks.map((r, i) => (
          <span key={r} class={`rank-name ${(r + files[0]) % 2 === 0 ? "dark" : "light"}`} style={{ top: `${12.5 * i}%` }}>
            {r + 1}
          </span>
        ))}
        {files.map((f, i) => (
          <span key={f} class={`file-name ${(f + ranks[7]) % 2 === 0 ? "dark" : "light"}`} style={{ left: `${12.5 * i}%` }}>
            {"abcdefgh"[f]}
          </span>
        ))}
      </div>
      <div class="men" aria-hidden="true">
        {men.current.map((m) => (
          <div
            key={m.id}
            class={`man ${drag.square === m.square ? "dragged" : ""}`}
            data-man={m.piece}
            data-at={squareName(m.square)}
            style={{ transform: drag.square === m.square ? drag.transform : place(m.square, bottom) }}
          >
            <Piece piece={m.piece} />
          </div>
        ))}
      </div>
      <Arrows arrows={props.arrows ?? []} bottom={bottom} />
      {choice && (
        <Promotion
          color={position.turn}
          column={place(choice[0].to, bottom)}
          fromTop={(choice[0].to >> 3 === 7) === (bottom === "w")}
          onChoose={(kind) => {
            choose(null);
            const move = choice.find((m) => m.promotion === kind);
            if (move) props.onMove?.(move);
          }}
          onCancel={() => choose(null)}
        />
      )}
    </div>
  );
}

/** place moves a thing of one square's size to a square. */
export function place(s: number, bottom: Color): string {
  const [f, r] = bottom === "w" ? [s & 7, 7 - (s >> 3)] : [7 - (s & 7), s >> 3];
  return `translate(${100 * f}%, ${100 * r}%)`;
}
