// Announcements that stay.

import assert from "node:assert/strict";
import { test } from "node:test";
import { announce, announcements, close, left } from "../src/announcements";

test("an announcement is shown once, and goes when it is withdrawn or closed", () => {
  const stays = { id: 7, seconds: 60, countdown: true };
  announce("We move", true, stays);
  announce("We move", true, stays);
  assert.equal(announcements.value.length, 1);
  announce("withdrawn: We move", false, { ...stays, seconds: 0 });
  assert.deepEqual(announcements.value, []);
  announce("Tea", false, { id: 8, seconds: 60, countdown: false });
  close(8);
  announce("Tea", false, { id: 8, seconds: 50, countdown: false });
  assert.deepEqual(announcements.value, []);
});

test("the time that is left is told in the largest unit that fits", () => {
  assert.equal(left(2 * 3600_000 - 30_000, "en"), "in 2 hours");
  assert.equal(left(1_800_000, "en"), "in 30 minutes");
  assert.equal(left(90_000, "de"), "in 90 Sekunden");
  assert.equal(left(3 * 3600_000, "fr"), "dans 3 heures");
  assert.equal(left(-5, "es"), "dentro de 0 segundos");
});
