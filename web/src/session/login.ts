// Logging in and out: the session is tied to the browser's identity.

import type { Key } from "../identity";
import { intField, type Messages, textField } from "../wire";
import { Lost } from "./connection";
import { keys } from "./storage";
import type { Session } from "./session";

const tries = 3;

type Message = (server: string, token: string, publicKey: string, challenge: string) => Uint8Array;

/** login proves the key to the server. It begins again when the connection breaks, because that uses up the challenge. */
export async function login(session: Session, key: Key, message: Message): Promise<void> {
  for (let i = 1; ; i++) {
    try {
      return await once(session, key, message);
    } catch (e) {
      if (!(e instanceof Lost) || i === tries || session.status.value.link === "stopped") throw e;
    }
  }
}

async function once(session: Session, key: Key, message: Message): Promise<void> {
  const { caller } = session;
  const asked = await caller.ask({ name: "LOGIN_REQUEST", body: { public_key: key.publicKey } });
  if (asked.message.name !== "LOGIN_CHALLENGE") throw new Error("no challenge");
  const { token } = session.status.value;
  const signature = key.sign(message(location.host, token, key.publicKey, asked.message.body.challenge));
  const ext = [intField("login.token", 1), textField("login.server", location.host), ...(session.wantsBoard ? [] : [intField("hello.without_board", 2)])];
  const answer = await caller.askOnce({ name: "LOGIN_REQUEST", body: { public_key: key.publicKey, signature }, ext });
  session.takeToken(answer.token);
  session.stored.set(keys.loggedIn, answer.token);
  session.adopt(answer, null);
}

/** OwnSession is one session of the player's identity. */
export type OwnSession = Messages["SESSIONS_DATA"]["rows"][number];

/** sessions asks for the sessions of the player's identity, this one first. */
export async function sessions(session: Session): Promise<OwnSession[]> {
  const answer = await session.caller.ask({ name: "GET_SESSIONS", body: {} });
  return answer.message.body.rows;
}

/** revoke ends a session for good, or with 0 all but this one, and returns those that are left. */
export async function revoke(session: Session, id: OwnSession["session_id"]): Promise<OwnSession[]> {
  const answer = await session.caller.ask({ name: "REVOKE_SESSIONS", body: { session_id: id } });
  return answer.message.body.rows;
}

/** isLoggedIn reports whether the session of this token is tied to the identity. */
export function isLoggedIn(session: Session): boolean {
  return session.stored.get(keys.entropy) !== null && session.stored.get(keys.loggedIn) === session.status.value.token;
}

/** logout unties the key, forgets it in this browser, and starts as a new player. */
export async function logout(session: Session): Promise<void> {
  await session.caller.ask({ name: "LOGOUT", body: {} }).catch(() => {});
  session.stored.set(keys.entropy, null);
  session.stored.set(keys.loggedIn, null);
  session.forget();
  session.start();
}
