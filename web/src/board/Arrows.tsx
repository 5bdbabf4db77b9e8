// Arrows over a board: predictions.

import type { Color } from "../chess";

export interface Arrow {
  from: number;
  to: number;
  weight: number; // 0 to 1: how strong it is drawn
  mine: boolean;
}

export function Arrows({ arrows, bottom }: { arrows: readonly Arrow[]; bottom: Color }) {
  if (arrows.length === 0) return null;
  const middle = (s: number): [number, number] => (bottom === "w" ? [(s & 7) + 0.5, 7.5 - (s >> 3)] : [7.5 - (s & 7), (s >> 3) + 0.5]);
  return (
    <svg class="arrows" viewBox="0 0 8 8" aria-hidden="true">
      {arrows.map((a) => {
        const [x1, y1] = middle(a.from);
        const [x2, y2] = middle(a.to);
        const length = Math.hypot(x2 - x1, y2 - y1) || 1;
        const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
        const wide = 0.09 + 0.09 * a.weight;
        const head = [x2 - ux * 0.42, y2 - uy * 0.42];
        const points = [
          [x2 - ux * 0.05, y2 - uy * 0.05],
          [head[0] - uy * wide * 1.9, head[1] + ux * wide * 1.9],
          [head[0] + uy * wide * 1.9, head[1] - ux * wide * 1.9],
        ];
        return (
          <g key={`${a.from}-${a.to}-${a.mine}`} class={a.mine ? "arrow mine" : "arrow"} opacity={0.45 + 0.5 * a.weight}>
            <line x1={x1 + ux * 0.2} y1={y1 + uy * 0.2} x2={head[0]} y2={head[1]} stroke-width={wide} />
            <polygon points={points.map((p) => p.join()).join(" ")} />
          </g>
        );
      })}
    </svg>
  );
}
