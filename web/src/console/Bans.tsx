// Who is kept out, and until when.

import { h } from "./texts";
import type { Ban } from "./ask";
import type { AskFirst } from "./Confirm";
import { Table } from "./Table";

export function Bans({ list, confirm }: { list: Ban[]; confirm: AskFirst }) {
  return (
    <section class="card" aria-labelledby="bans">
      <h2 id="bans">{h.bans}</h2>
      <Table of="bans" columns={h.bansColumns} empty={h.bansEmpty}>
        {list.map((b) => (
          <tr key={`${b.profile} ${b.whom}`} data-ban={b.whom}>
            <td>{b.profile}</td>
            <td>{b.whom}</td>
            <td>{b.text}</td>
            <td>{b.until ? new Date(b.until).toLocaleString() : h.forEver}</td>
            <td>{b.by}</td>
            <td>
              <button
                type="button"
                data-command="lift"
                onClick={() => confirm({ name: "unban", args: { whom: b.whom, profile: b.profile }, title: h.unban, text: h.confirm.unban(b.whom) })}
              >
                {h.unban}
              </button>
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
}
