// The end of the log, and of the audit log.

import { useEffect, useRef, useState } from "preact/hooks";
import { h } from "./texts";
import { ask, type Audited } from "./ask";

const every = 2000; // ms

export function Lists({ done }: { done: number }) {
  const [lines, setLines] = useState<string[]>([]);
  const [audited, setAudited] = useState<Audited[]>([]);
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const look = () => ask.log().then(setLines, () => {});
    look();
    const timer = setInterval(look, every);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => {
    ask.audit().then(setAudited, () => {});
  }, [done]);
  useEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines.length]);
  return (
    <>
      <section class="card" aria-labelledby="log">
        <h2 id="log">{h.log}</h2>
        {lines.length === 0 ? (
          <p class="faint">{h.logEmpty}</p>
        ) : (
          <pre ref={box} class="log" tabIndex={0} role="group" aria-labelledby="log">
            {lines.join("\n")}
          </pre>
        )}
      </section>
      <section class="card" aria-labelledby="audit">
        <h2 id="audit">{h.audit}</h2>
        {audited.length === 0 ? (
          <p class="faint">{h.auditEmpty}</p>
        ) : (
          <ol class="audit">
            {audited.map((d, i) => (
              <li key={i}>
                <time>{new Date(d.at).toLocaleString()}</time> <b>{d.verb}</b> {d.args ? JSON.stringify(d.args) : ""} <span class="faint">{d.from}</span>
                {d.error && <em class="error"> {d.error}</em>}
              </li>
            ))}
          </ol>
        )}
      </section>
    </>
  );
}
