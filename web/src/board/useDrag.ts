// Dragging a piece with mouse, pen or finger, and telling a drag from a click.

import { useRef, useState } from "preact/hooks";
import type { Color } from "../chess";

const slack = 5; // px that a click may wander

interface DragActions {
  /** press says whether the piece on the square can be dragged, and whether the square was selected before. */
  press(square: number): { movable: boolean; was: boolean };
  drop(from: number, to: number): void;
  click(square: number, was: boolean): void;
}

export function useDrag(grid: { current: HTMLElement | null }, bottom: Color, actions: DragActions) {
  const [held, hold] = useState<{ square: number; x: number; y: number } | null>(null);
  const press = useRef<{ square: number; x: number; y: number; movable: boolean; was: boolean; moved: boolean } | null>(null);

  const squareAt = (e: PointerEvent): number => {
    const box = grid.current!.getBoundingClientRect();
    const f = Math.floor((8 * (e.clientX - box.left)) / box.width);
    const r = Math.floor((8 * (e.clientY - box.top)) / box.height);
    if (f < 0 || f > 7 || r < 0 || r > 7) return -1;
    return bottom === "w" ? 8 * (7 - r) + f : 8 * r + 7 - f;
  };

  const onPointerDown = (e: PointerEvent) => {
    if (e.button !== 0 || !e.isPrimary) return;
    const square = squareAt(e);
    if (square < 0) return;
    press.current = { square, x: e.clientX, y: e.clientY, moved: false, ...actions.press(square) };
    try {
      grid.current!.setPointerCapture(e.pointerId);
    } catch {
      // the finger has left already
    }
  };

  const onPointerMove = (e: PointerEvent) => {
    const p = press.current;
    if (!p?.movable) return;
    p.moved ||= Math.hypot(e.clientX - p.x, e.clientY - p.y) > slack;
    if (!p.moved) return;
    const box = grid.current!.getBoundingClientRect();
    const size = box.width / 8;
    hold({ square: p.square, x: e.clientX - box.left - size / 2, y: e.clientY - box.top - size / 2 });
  };

  const onPointerUp = (e: PointerEvent) => {
    const p = press.current;
    press.current = null;
    hold(null);
    if (!p) return;
    const to = squareAt(e);
    if (p.moved && to !== p.square) actions.drop(p.square, to);
    else if (to === p.square) actions.click(p.square, p.was);
  };

  const onPointerCancel = () => {
    press.current = null;
    hold(null);
  };

  return {
    square: held?.square ?? -1,
    transform: held ? `translate(${held.x}px, ${held.y}px)` : "",
    handlers: { onPointerDown, onPointerMove, onPointerUp, onPointerCancel },
  };
}
