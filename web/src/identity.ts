// An identity is an Ed25519 key made in this browser. Twelve words of BIP-39 are
// its backup: words → seed of BIP-39 without a passphrase → its first 32 bytes
// are the secret key of RFC 8032. Nothing here needs WebCrypto, which browsers
// do not offer on plain http.

import { getPublicKey, hashes, sign } from "@noble/ed25519";
import { sha512 } from "@noble/hashes/sha2.js";
import { entropyToMnemonic, mnemonicToEntropy, mnemonicToSeedSync } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import { encodeText, fromHex, toHex } from "./wire";

hashes.sha512 = sha512;

/** pageIsOpen reports whether others on the way can read and change this page: then they could take a key that is kept here. */
export function pageIsOpen(): boolean {
  return !globalThis.isSecureContext;
}

/** newEntropy returns what an identity is made from: 128 random bits, as hexadecimal digits. */
export function newEntropy(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(16)));
}

export function wordsOf(entropy: string): string {
  return entropyToMnemonic(fromHex(entropy), wordlist);
}

/** entropyOf reads twelve words, however they are spaced and written; null when they are not valid. */
export function entropyOf(words: string): string | null {
  const list = words.toLowerCase().trim().split(/[\s,]+/);
  if (list.length !== 12) return null;
  try {
    return toHex(mnemonicToEntropy(list.join(" "), wordlist));
  } catch {
    return null;
  }
}

export interface Key {
  publicKey: string;
  sign(message: Uint8Array): string;
}

export function keyOf(entropy: string): Key {
  const secret = mnemonicToSeedSync(wordsOf(entropy)).slice(0, 32);
  return { publicKey: toHex(getPublicKey(secret)), sign: (message) => toHex(sign(message, secret)) };
}

/** loginMessage returns the bytes that a client signs to prove its key to a server, and to no other one (docs/protocol.md). */
export function loginMessage(server: string, token: string, publicKey: string, challenge: string): Uint8Array {
  const parts = [...encodeText("wamble.login.v2"), 2, ...fromHex(token), ...fromHex(publicKey), ...fromHex(challenge)];
  return new Uint8Array([...parts, ...encodeText(server)]);
}
