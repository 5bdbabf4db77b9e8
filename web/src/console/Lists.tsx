// The end of the log, and of the audit log.

import { useEffect, useRef } from "preact/hooks";
import { h } from "./texts";
import type { Audited } from "./ask";

/** said puts the arguments of a command into words. */
function said(args: unknown): string {
  const word = (v: unknown): string => {
    if (Array.isArray(v)) return v.map(word).join(" ");
    if (v && typeof v === "object") return pairs(v);
    return typeof v === "string" && v.includes(" ") ? `“${v}”` : String(v);
  };
  const pairs = (o: object): string =>
    Object.entries(o)
      .filter(([, v]) => v !== false && v !== "" && v !== null)
      .map(([name, v]) => (v === true ? name : name === "whom" ? word(v) : `${name} ${word(v)}`))
      .join(", ");
  return args && typeof args === "object" ? pairs(args) : "";
}

export function Lists({ lines, audited }: { lines: string[]; audited: Audited[] }) {
  const box = useRef<HTMLPreElement>(null);
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
                <time dateTime={d.at}>{new Date(d.at).toLocaleString()}</time>
                <span>
                  <b>{d.verb}</b> {said(d.args)}
                  {d.error && <em class="error"> {d.error}</em>}
                </span>
                <span class="faint">{d.from}</span>
              </li>
            ))}
          </ol>
        )}
      </section>
    </>
  );
}
