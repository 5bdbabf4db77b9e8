// Choosing the name of one's identity, which others see.

import { useState } from "preact/hooks";
import { session, tell } from "../app";
import { askStanding } from "../standing";
import { t } from "../texts";
import { Dialog } from "../ui/Dialog";
import { because } from "../words";

const valid = /^[A-Za-z0-9_-]{3,20}$/;

/** why is the reason of a refusal in the player's words. */
function why(reason: string): string {
  const [, date] = /again on (\d{4}-\d{2}-\d{2})$/.exec(reason) ?? [];
  return date ? t.name_.later(new Date(date)) : because(reason);
}

export function NameDialog({ now, onClose }: { now: string; onClose(): void }) {
  const [name, setName] = useState(now.startsWith("h_") ? "" : now);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (e: Event) => {
    e.preventDefault();
    if (!valid.test(name)) return setError(t.name_.hint);
    setBusy(true);
    try {
      await session.caller.ask({ name: "SET_NAME", body: { name } });
      tell(t.name_.done(name), "good");
      askStanding(0);
      onClose();
    } catch (e) {
      setError(why((e as Error).message));
      setBusy(false);
    }
  };
  return (
    <Dialog title={t.name_.title} onClose={onClose}>
      <form class="restore" onSubmit={submit}>
        <label for="name">{t.name_.hint}</label>
        <input
          id="name"
          autocomplete="nickname"
          autocapitalize="none"
          spellcheck={false}
          maxLength={20}
          aria-invalid={error !== ""}
          aria-describedby={error ? "bad-name" : undefined}
          value={name}
          onInput={(e) => (setName(e.currentTarget.value), setError(""))}
        />
        {error && (
          <p id="bad-name" class="error" role="alert">
            {error}
          </p>
        )}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            {t.you.cancel}
          </button>
          <button type="submit" class="main" data-action="name" disabled={busy}>
            {t.name_.choose}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
