// The terms of service of a profile that has them: nothing can be done before
// they are accepted.

import { useEffect, useState } from "preact/hooks";
import { session, tell } from "../app";
import { useStore } from "../session/store";
import { t } from "../texts";
import { Dialog } from "../ui/Dialog";

/** terms asks for the text; "" when there is none. */
async function terms(): Promise<string> {
  const p = await session.caller.ask({ name: "GET_PROFILE_TOS", body: { name: "" } });
  const text = p.message.body.terms;
  return text.startsWith("NOTFOUND;") ? "" : text;
}

export function Terms() {
  const { link, caps, token } = useStore(session.status);
  const [text, setText] = useState("");
  const [declined, setDeclined] = useState(false);
  const waiting = link === "online" && caps === 0;

  useEffect(() => {
    if (waiting) terms().then(setText, () => setText(""));
    else setText("");
  }, [waiting, token]);

  const accept = async () => {
    try {
      const p = await session.caller.ask({ name: "ACCEPT_PROFILE_TOS", body: { name: "" } });
      session.learn(p);
      session.refresh();
      setText("");
    } catch (e) {
      tell((e as Error).message, "bad");
    }
  };

  if (!waiting || !text) return null;
  if (declined) {
    return (
      <div class="card declined" role="status">
        {t.terms.declined}
        <button type="button" onClick={() => setDeclined(false)}>
          {t.terms.read}
        </button>
      </div>
    );
  }
  return (
    <Dialog title={t.terms.title} onClose={() => setDeclined(true)} wide>
      <div class="terms" tabIndex={0} role="document" aria-label={t.terms.title}>
        {text}
      </div>
      <div class="buttons">
        <button type="button" onClick={() => setDeclined(true)}>
          {t.terms.decline}
        </button>
        <button type="button" class="main" data-action="accept" onClick={accept}>
          {t.terms.accept}
        </button>
      </div>
    </Dialog>
  );
}
