// The identity of this browser: make one, back it up, restore it, leave it.

import { useEffect, useState } from "preact/hooks";
import { session, tell } from "../app";
import * as identity from "../identity";
import { keys } from "../session/storage";
import { isLoggedIn, login, logout, type OwnSession, revoke, sessions } from "../session/login";
import { useStore } from "../session/store";
import { askStanding, forgetPast, standing } from "../standing";
import { language, t } from "../texts";
import { Dialog } from "../ui/Dialog";
import { copy } from "../ui/copy";
import { NameDialog } from "./NameDialog";

type Step = "none" | "busy" | "name" | "words" | "restore" | "leave" | "sessions";

export function IdentityCard() {
  const { token, link } = useStore(session.status);
  const now = useStore(standing);
  const [step, setStep] = useState<Step>("none");
  const [entropy, setEntropy] = useState(session.stored.get(keys.entropy));
  const inside = entropy !== null && isLoggedIn(session);

  const enter = async (secret: string, after: Step) => {
    setStep("busy");
    try {
      await login(session, identity.keyOf(secret), identity.loginMessage);
      session.stored.set(keys.entropy, secret);
      session.stored.set(keys.loggedIn, session.status.value.token);
      setEntropy(secret);
      setStep(after);
      askStanding(0);
    } catch (e) {
      tell(`${t.you.loginFailed} ${(e as Error).message}`, "bad");
      setStep("none");
    }
  };

  useEffect(() => {
    // A key without its session: the server forgot the session, the key stays.
    if (entropy && link === "online" && !isLoggedIn(session)) void enter(entropy, "none");
  }, [token, link]);

  const leave = async () => {
    setStep("busy");
    await logout(session);
    forgetPast();
    setEntropy(null);
    setStep("none");
  };

  return (
    <section class="card identity" aria-labelledby="identity" data-identity={inside ? "yes" : "no"}>
      <h2 id="identity">{t.you.identity}</h2>
      {identity.pageIsOpen() && (
        <p data-open-page>
          {t.you.openPage}
        </p>
      )}
      {step === "busy" ? (
        <p role="status">{t.you.loggingIn}</p>
      ) : inside ? (
        <>
          <p>
            {t.you.loggedIn} <b data-handle={now?.handle ?? ""}>{now?.handle || identity.keyOf(entropy!).publicKey.slice(0, 12)}</b>
          </p>
          <div class="buttons">
            <button type="button" class="main" data-action="rename" onClick={() => setStep("name")}>
              {t.name_.title}
            </button>
            <button type="button" onClick={() => setStep("words")}>
              {t.you.showWords}
            </button>
            <button type="button" data-action="sessions" onClick={() => setStep("sessions")}>
              {t.you.sessions}
            </button>
            <button type="button" class="danger" onClick={() => setStep("leave")}>
              {t.you.logout}
            </button>
          </div>
        </>
      ) : (
        <>
          <p class="faint">{t.you.anonymous}</p>
          {!identity.pageIsOpen() && (
            <>
              <p class="faint">{t.you.createHint}</p>
              <div class="buttons">
                <button type="button" onClick={() => setStep("restore")}>
                  {t.you.restore}
                </button>
                <button type="button" class="main" disabled={link !== "online"} onClick={() => enter(identity.newEntropy(), "words")}>
                  {t.you.create}
                </button>
              </div>
            </>
          )}
        </>
      )}
      {step === "name" && <NameDialog now={now?.handle ?? ""} onClose={() => setStep("none")} />}
      {step === "words" && entropy && <Words words={identity.wordsOf(entropy)} onClose={() => setStep("none")} />}
      {step === "restore" && <Restore onClose={() => setStep("none")} onRestore={(secret) => enter(secret, "none")} />}
      {step === "sessions" && <Sessions onClose={() => setStep("none")} />}
      {step === "leave" && (
        <Dialog title={t.you.logout} onClose={() => setStep("none")}>
          <p>{t.you.logoutAsk}</p>
          <div class="buttons">
            <button type="button" onClick={() => setStep("none")}>
              {t.you.cancel}
            </button>
            <button type="button" class="danger" data-action="logout" onClick={leave}>
              {t.you.logout}
            </button>
          </div>
        </Dialog>
      )}
    </section>
  );
}

function Sessions({ onClose }: { onClose(): void }) {
  const [rows, setRows] = useState<OwnSession[] | null>(null);
  const [ending, setEnding] = useState<OwnSession["session_id"] | null>(null); // 0: all others
  const take = (list: Promise<OwnSession[]>) => list.then(setRows, () => tell(t.you.sessionsFailed, "bad"));
  const when = (s: OwnSession["created_at"]) => new Date(Number(s) * 1000).toLocaleString(language);
  useEffect(() => void take(sessions(session)), []);
  const end = () => {
    void take(revoke(session, ending!));
    setEnding(null);
  };
  return (
    <Dialog title={t.you.sessions} onClose={onClose}>
      <p class="faint">{t.you.sessionsHint}</p>
      <ul class="own-sessions" data-sessions={rows?.length ?? ""}>
        {rows?.map((r) => (
          <li key={String(r.session_id)}>
            <span>
              <b>{r.own ? t.you.sessionHere : t.you.session(String(r.session_id))}</b>
              <br />
              <span class="faint">{t.you.sessionSeen(when(r.created_at), when(r.last_seen_at))}</span>
            </span>
            {!r.own && (
              <button type="button" class="danger" data-end={String(r.session_id)} onClick={() => setEnding(r.session_id)}>
                {t.you.sessionEnd}
              </button>
            )}
          </li>
        ))}
      </ul>
      {ending !== null ? (
        <div role="alertdialog" aria-labelledby="end-ask">
          <p id="end-ask">{Number(ending) ? t.you.sessionEndAsk(String(ending)) : t.you.sessionOthersAsk}</p>
          <div class="buttons">
            <button type="button" onClick={() => setEnding(null)}>
              {t.you.cancel}
            </button>
            <button type="button" class="danger" data-action="end" onClick={end}>
              {Number(ending) ? t.you.sessionEnd : t.you.sessionOthers}
            </button>
          </div>
        </div>
      ) : (
        <div class="buttons">
          <button type="button" class="danger" data-action="others" disabled={!rows || rows.length < 2} onClick={() => setEnding(0)}>
            {t.you.sessionOthers}
          </button>
          <button type="button" class="main" onClick={onClose}>
            {t.you.close}
          </button>
        </div>
      )}
    </Dialog>
  );
}

function Words({ words, onClose }: { words: string; onClose(): void }) {
  return (
    <Dialog title={t.you.words} onClose={onClose}>
      <p class="faint">{t.you.wordsHint}</p>
      <ol class="words" data-words={words}>
        {words.split(" ").map((w, i) => (
          <li key={i}>{w}</li>
        ))}
      </ol>
      <div class="buttons">
        <button type="button" onClick={async () => (await copy(words)) && tell(t.you.copied)}>
          {t.you.copy}
        </button>
        <button type="button" class="main" onClick={onClose}>
          {t.you.saved}
        </button>
      </div>
    </Dialog>
  );
}

function Restore({ onClose, onRestore }: { onClose(): void; onRestore(entropy: string): void }) {
  const [words, setWords] = useState("");
  const [bad, setBad] = useState(false);
  const submit = (e: Event) => {
    e.preventDefault();
    const entropy = identity.entropyOf(words);
    if (entropy) onRestore(entropy);
    else setBad(true);
  };
  return (
    <Dialog title={t.you.restore} onClose={onClose}>
      <form class="restore" onSubmit={submit}>
        <label for="words">{t.you.restoreHint}</label>
        <textarea
          id="words"
          rows={3}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          aria-invalid={bad}
          aria-describedby={bad ? "bad-words" : undefined}
          value={words}
          onInput={(e) => (setWords(e.currentTarget.value), setBad(false))}
        />
        {bad && (
          <p id="bad-words" class="error" role="alert">
            {t.you.badWords}
          </p>
        )}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            {t.you.cancel}
          </button>
          <button type="submit" class="main" data-action="restore">
            {t.you.restore}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
