// Three small sounds from an oscillator, without files. They are off until the player turns them on.

import { settings } from "./settings";

let audio: AudioContext | null = null;

function knock(pitch: number, volume: number, length: number): void {
  if (!settings.value.sound) return;
  audio ??= new AudioContext();
  const start = audio.currentTime;
  const tone = audio.createOscillator();
  const gain = audio.createGain();
  tone.type = "triangle";
  tone.frequency.setValueAtTime(pitch, start);
  tone.frequency.exponentialRampToValueAtTime(pitch / 3, start + length);
  gain.gain.setValueAtTime(volume, start);
  gain.gain.exponentialRampToValueAtTime(0.001, start + length);
  tone.connect(gain).connect(audio.destination);
  tone.start(start);
  tone.stop(start + length);
}

export const sounds = {
  move: () => knock(320, 0.35, 0.09),
  capture: () => knock(200, 0.5, 0.14),
  arrive: () => knock(520, 0.15, 0.12),
};
