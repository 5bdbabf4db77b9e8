// Identities: the words of BIP-39, the key of RFC 8032, the message of a login.

import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { test } from "node:test";
import { entropyOf, keyOf, loginMessage, newEntropy, wordsOf } from "../src/identity";
import { fromHex, toHex } from "../src/wire";

test("twelve words and back", () => {
  // The first vector of BIP-39.
  const words = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";
  assert.equal(wordsOf("00000000000000000000000000000000"), words);
  assert.equal(entropyOf(`  ${words.toUpperCase().replaceAll(" ", "\n ")} `), "00000000000000000000000000000000");
  for (const bad of ["", "abandon", words.replace("about", "abandon"), words.replace("about", "abuot"), words + " about"]) {
    assert.equal(entropyOf(bad), null);
  }
  const entropy = newEntropy();
  assert.equal(entropyOf(wordsOf(entropy)), entropy);
});

test("the key is the first half of the seed, and signs as RFC 8032 says", () => {
  const key = keyOf("00000000000000000000000000000000");
  const message = loginMessage("play.example", "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf", key.publicKey, "80".repeat(32));
  assert.equal(message.length, 96 + 12);
  assert.equal(toHex(message.subarray(0, 16)), "77616d626c652e6c6f67696e2e763202");
  const spki = new Uint8Array([...fromHex("302a300506032b6570032100"), ...fromHex(key.publicKey)]);
  const publicKey = createPublicKey({ key: Buffer.from(spki), format: "der", type: "spki" });
  assert.ok(verify(null, message, publicKey, fromHex(key.sign(message))));
});
