// A table, or a word when it has no rows. On a narrow screen each row is a card: there a
// cell says the name of its column, which it gets here.

import { type ComponentChildren, toChildArray } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { h } from "./texts";

export function Table({ of, columns, empty, children }: { of: string; columns: readonly string[]; empty?: string; children: ComponentChildren }) {
  const body = useRef<HTMLTableSectionElement>(null);
  useEffect(() => {
    for (const row of body.current?.rows ?? []) for (const cell of row.cells) cell.dataset.name = columns[cell.cellIndex];
  });
  if (toChildArray(children).length === 0) return <p class="faint">{empty}</p>;
  return (
    <div class="scroll" tabIndex={0} role="group" aria-labelledby={of}>
      <table>
        <thead>
          <tr>
            {columns.map((c) => (
              <th key={c} scope="col">
                {c || <span class="hidden">{h.actions}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>{children}</tbody>
      </table>
    </div>
  );
}
