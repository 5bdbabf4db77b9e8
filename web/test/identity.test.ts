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

test("the same words are the same key as in the other clients", () => {
  // The vectors of internal/play.
  for (const [entropy, words, publicKey] of [
    ["00".repeat(16), "abandon ".repeat(11) + "about", "c5785e1865b708938aff8161d573006496663b1aa10834e396dc566869a2c66a"],
    ["7f".repeat(16), "legal winner thank year wave sausage worth useful legal winner thank yellow", "c6f2ac5598970c79633714d3eb5c34d7bfc3e92da58c7354b37996d9a4af3ab2"],
    ["9e885d952ad362caeb4efe34a8e91bd2", "ozone drill grab fiber curtain grace pudding thank cruise elder eight picnic", "6b43f7dfcf12fab0075678b751adf3424433053f9ad5dd18b19ff59dda23aa29"],
  ]) {
    assert.equal(wordsOf(entropy), words);
    assert.equal(entropyOf(words), entropy);
    assert.equal(keyOf(entropy).publicKey, publicKey);
  }
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
