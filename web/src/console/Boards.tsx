// Boards, found by number, holder or state.

import { useEffect, useState } from "preact/hooks";
import { h } from "./texts";
import { ask, type FoundBoard } from "./ask";
import type { AskFirst } from "./Confirm";
import { Table } from "./Table";

export function Boards({ look, confirm }: { look: number; confirm: AskFirst }) {
  const [text, setText] = useState("");
  const [query, setQuery] = useState<string | null>(null);
  const [list, setList] = useState<FoundBoard[]>([]);
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    if (query === null) return;
    let gone = false;
    ask.boards(query).then(
      (rows) => !gone && (setList(rows), setWrong("")),
      (e: Error) => !gone && (setList([]), setWrong(e.message)),
    );
    return () => {
      gone = true;
    };
  }, [query, look]);
  return (
    <section class="card" aria-labelledby="boards">
      <h2 id="boards">{h.boardsTitle}</h2>
      <form
        class="search"
        onSubmit={(e) => {
          e.preventDefault();
          setQuery(text);
        }}
      >
        <label for="boards-query">{h.boardsQuery}</label>
        <input id="boards-query" maxLength={64} autocomplete="off" value={text} onInput={(e) => setText(e.currentTarget.value.trim())} />
        <button type="submit" data-command="boards">
          {h.show}
        </button>
      </form>
      {wrong && <p role="alert">{wrong}</p>}
      {query !== null && !wrong && (
        <Table of="boards" columns={h.boardsColumns} empty={h.boardsEmpty}>
          {list.map((b) => (
            <tr key={`${b.profile} ${b.board}`} data-board={b.board}>
              <td>{b.board}</td>
              <td>{b.profile}</td>
              <td>{b.status.toLowerCase()}</td>
              <td>{b.plies}</td>
              <td>{b.holder ? b.handle || h.session(b.holder) : ""}</td>
              <td>{b.moved ? new Date(b.moved).toLocaleString() : "–"}</td>
              <td>
                <code>{b.fen}</code>
              </td>
              <td>
                <button
                  type="button"
                  data-command="archive-board"
                  onClick={() => confirm({ name: "archive", args: { board: b.board, profile: b.profile }, title: h.archive, text: h.confirm.archive(b.board) })}
                >
                  {h.archive}
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}
