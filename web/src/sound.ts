// Small sounds from an oscillator, without files. They are off until the player turns them on.

import { settings } from "./settings";

let audio: AudioContext | null = null;

/** tone plays one tone that falls to a part of its pitch, some seconds from now. */
function tone(pitch: number, volume: number, length: number, after = 0, fall = 1 / 3): void {
  if (!settings.value.sound) return;
  audio ??= new AudioContext();
  const start = audio.currentTime + after;
  const source = audio.createOscillator();
  const gain = audio.createGain();
  source.type = "triangle";
  source.frequency.setValueAtTime(pitch, start);
  source.frequency.exponentialRampToValueAtTime(pitch * fall, start + length);
  gain.gain.setValueAtTime(volume, start);
  gain.gain.exponentialRampToValueAtTime(0.001, start + length);
  source.connect(gain).connect(audio.destination);
  source.start(start);
  source.stop(start + length);
}

export const sounds = {
  move: () => tone(320, 0.35, 0.09),
  capture: () => tone(200, 0.5, 0.14),
  check: () => tone(660, 0.22, 0.18, 0.06, 0.9),
  arrive: () => tone(520, 0.15, 0.12),
  win: () => [523, 659, 784, 1047].forEach((pitch, i) => tone(pitch, 0.2, 0.35, 0.1 * i, 1)),
  draw: () => [523, 523].forEach((pitch, i) => tone(pitch, 0.18, 0.3, 0.16 * i, 1)),
  loss: () => [392, 330, 262].forEach((pitch, i) => tone(pitch, 0.16, 0.35, 0.14 * i, 0.95)),
};
