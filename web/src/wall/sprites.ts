// The wall's pieces: drawn once for a size, then copied.

import { drawings } from "../board/pieces";

const looks = {
  w: { fill: "#fffdf6", line: "#35323d", detail: "#35323d" },
  b: { fill: "#3a3742", line: "#1b1922", detail: "#cfc9dc" },
};

const sheets = new Map<number, Map<string, HTMLCanvasElement>>();

/** sprites are the twelve pieces, size pixels wide, by FEN letter. */
export function sprites(size: number): Map<string, HTMLCanvasElement> {
  const known = sheets.get(size);
  if (known) return known;
  const sheet = new Map<string, HTMLCanvasElement>();
  for (const color of ["w", "b"] as const) {
    for (const [kind, d] of Object.entries(drawings)) {
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = size;
      const c = canvas.getContext("2d")!;
      c.scale(size / 100, size / 100);
      c.lineJoin = c.lineCap = "round";
      for (const path of d.body.map((p) => new Path2D(p))) {
        c.fillStyle = looks[color].fill;
        c.strokeStyle = looks[color].line;
        c.lineWidth = 4.5;
        c.fill(path);
        c.stroke(path);
      }
      c.strokeStyle = looks[color].detail;
      c.lineWidth = 3;
      for (const path of d.detail) c.stroke(new Path2D(path));
      sheet.set(color === "w" ? kind.toUpperCase() : kind, canvas);
    }
  }
  sheets.set(size, sheet);
  return sheet;
}
