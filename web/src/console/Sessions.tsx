// The sessions of a player, each of which can be ended.

import { useEffect, useState } from "preact/hooks";
import { h } from "./texts";
import { ask, type PlayerSession } from "./ask";
import type { AskFirst } from "./Confirm";
import { Table } from "./Table";

/** Sessions asks by a public key, and again with each look: the database learns a little later what has ended. */
export function Sessions({ look, confirm }: { look: number; confirm: AskFirst }) {
  const [text, setText] = useState("");
  const [whom, setWhom] = useState("");
  const [list, setList] = useState<PlayerSession[]>([]);
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    if (!whom) return;
    let gone = false;
    ask.sessions(whom).then(
      (rows) => !gone && (setList(rows), setWrong("")),
      (e: Error) => !gone && (setList([]), setWrong(e.message)),
    );
    return () => {
      gone = true;
    };
  }, [whom, look]);
  const end = (args: { profile?: string; session?: number }, asked: string) =>
    confirm({ name: "revoke", args: { whom, ...args }, title: h.endSession, text: asked });
  return (
    <section class="card" aria-labelledby="sessions">
      <h2 id="sessions">{h.sessions}</h2>
      <form
        class="search"
        onSubmit={(e) => {
          e.preventDefault();
          setWhom(text);
        }}
      >
        <label for="sessions-whom">{h.publicKey}</label>
        <input id="sessions-whom" maxLength={64} autocomplete="off" value={text} onInput={(e) => setText(e.currentTarget.value.trim())} />
        <button type="submit">{h.show}</button>
      </form>
      {wrong && <p role="alert">{wrong}</p>}
      {whom && !wrong && (
        <Table of="sessions" columns={h.sessionsColumns} empty={h.sessionsEmpty}>
          {list.map((s) => (
            <tr key={`${s.profile} ${s.session}`} data-session={s.session}>
              <td>{s.profile}</td>
              <td>{s.session}</td>
              <td>{new Date(s.created).toLocaleString()}</td>
              <td>{new Date(s.lastSeen).toLocaleString()}</td>
              <td>
                <button type="button" data-command="end" onClick={() => end({ profile: s.profile, session: s.session }, h.confirm.revoke(s.session))}>
                  {h.endSession}
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {list.length > 1 && (
        <button type="button" data-command="end-all" onClick={() => end({}, h.confirm.revokeAll)}>
          {h.endSessions}
        </button>
      )}
    </section>
  );
}
