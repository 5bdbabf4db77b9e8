// Where games begin.

import { Position } from "./position";

const standard = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/** arrangement is the first rank of a Chess960 number, 0 to 959 (Scharnagl). */
export function arrangement(number: number): string {
  const row: string[] = Array(8).fill("");
  const free = () => row.flatMap((p, i) => (p ? [] : [i]));
  row[2 * (number % 4) + 1] = "b";
  row[2 * (Math.floor(number / 4) % 4)] = "b";
  row[free()[Math.floor(number / 16) % 6]] = "q";
  let k = Math.floor(number / 96); // which two of the five squares left are the knights'
  for (let first = 0; first < 4; first++) {
    if (k < 4 - first) {
      const left = free();
      row[left[first]] = row[left[first + 1 + k]] = "n";
      break;
    }
    k -= 4 - first;
  }
  const [rook, king, other] = free();
  row[rook] = row[other] = "r";
  row[king] = "k";
  return row.join("");
}

/** start is the first position of a game; number is that of Chess960, if it is one. */
export function start(number?: number): Position {
  if (number === undefined || number < 0) return Position.parse(standard);
  const row = arrangement(number);
  return Position.parse(`${row}/pppppppp/8/8/8/8/PPPPPPPP/${row.toUpperCase()} w KQkq - 0 1`);
}
