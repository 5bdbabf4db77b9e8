// A table that scrolls sideways on a narrow screen, or a word when it has no rows.

import { type ComponentChildren, toChildArray } from "preact";
import { h } from "./texts";

export function Table({ of, columns, empty, children }: { of: string; columns: readonly string[]; empty?: string; children: ComponentChildren }) {
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
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
