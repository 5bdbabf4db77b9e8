// Where the places of the map are: in shells around a corner, so that more boards
// make the map larger and move nothing.
//
//	0 1 4 9
//	3 2 5 10
//	8 7 6 11

/** cellOf is the column and row of a place. */
export function cellOf(place: number): [x: number, y: number] {
  const shell = Math.floor(Math.sqrt(place));
  const along = place - shell * shell;
  return along <= shell ? [shell, along] : [2 * shell - along, shell];
}

/** placeOf is the place at a column and row. */
export function placeOf(x: number, y: number): number {
  return x >= y ? x * x + y : y * y + 2 * y - x;
}

/** sideOf is how many columns and rows hold n places. */
export const sideOf = (n: number): number => Math.max(1, Math.ceil(Math.sqrt(n)));
