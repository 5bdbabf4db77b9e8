// The announcements that stay, which can be withdrawn.

import { h } from "./texts";
import type { Announced } from "./ask";
import type { AskFirst } from "./Confirm";
import { Table } from "./Table";

export function Announcements({ list, confirm }: { list: Announced[]; confirm: AskFirst }) {
  if (list.length === 0) return null;
  return (
    <section class="card" aria-labelledby="announced">
      <h2 id="announced">{h.announced}</h2>
      <Table of="announced" columns={h.announcedColumns}>
        {list.map((a) => (
          <tr key={`${a.profile} ${a.at}`} data-announced={a.text}>
            <td>{a.profile ?? h.all}</td>
            <td>{a.text}</td>
            <td>{new Date(a.until).toLocaleString()}</td>
            <td>{a.by}</td>
          </tr>
        ))}
      </Table>
      <button type="button" data-command="withdraw" onClick={() => confirm({ name: "announce", args: { clear: true }, title: h.withdraw, text: h.confirm.withdraw })}>
        {h.withdraw}
      </button>
    </section>
  );
}
