// The pieces, drawn for Wamble on a field of 100 × 100. Each is a body, which is
// filled and outlined, and details, which are lines only. The board shows them as
// SVG, the wall draws the same paths on a canvas.

interface Drawing {
  body: string[];
  detail: string[];
}

const ball = (x: number, y: number, r: number): string => `M${x - r} ${y}a${r} ${r} 0 1 1 ${2 * r} 0a${r} ${r} 0 1 1 ${-2 * r} 0Z`;

const foot = "M27 77H73C78 77 80 80 80 84V86C80 88 79 89 77 89H23C21 89 20 88 20 86V84C20 80 22 77 27 77Z";

export const drawings: Record<string, Drawing> = {
  p: {
    body: [
      "M43 45C42 58 36 66 29 77H71C64 66 58 58 57 45Z",
      foot,
      ball(50, 33, 14.5),
      "M37 46H63C65 46 66 47 66 49S65 52 63 52H37C35 52 34 51 34 49S35 46 37 46Z",
    ],
    detail: [],
  },
  r: {
    body: ["M36 42H64L67 77H33Z", foot, "M26 16H37V24H45V16H55V24H63V16H74V34L66 43H34L26 34Z"],
    detail: ["M34 43H66", "M35 66H65"],
  },
  n: {
    body: [
      "M31 77C30 66 39 59 44 49C40 52 37 53 34 57C31 61 26 62 22 58C18 55 18 50 21 46C26 40 28 36 30 30C31 25 34 22 37 20L35 9L46 16C63 16 80 33 75 77Z",
      foot,
    ],
    detail: ["M48 25C60 27 69 43 68 70", "M26 52L28 50", ball(39, 31, 1.6)],
  },
  b: {
    body: [
      "M42 64C41 70 36 74 30 77H70C64 74 59 70 58 64Z",
      foot,
      "M50 18C62 26 69 38 68 48C67 56 61 60 59 65H41C39 60 33 56 32 48C31 38 38 26 50 18Z",
      ball(50, 14, 5.5),
      "M37 62H63C65 62 66 63 66 65S65 68 63 68H37C35 68 34 67 34 65S35 62 37 62Z",
    ],
    detail: ["M50 33V49", "M42.500 41H57.500"],
  },
  q: {
    body: [
      "M28 77C31 69 31 64 28 56L17 28L33 45L35 20L46 43L50 17L54 43L65 20L67 45L83 28L72 56C69 64 69 69 72 77Z",
      foot,
      ball(16, 25, 5),
      ball(34.5, 16, 5),
      ball(50, 13, 5),
      ball(65.5, 16, 5),
      ball(84, 25, 5),
    ],
    detail: ["M29 58C42 53 58 53 71 58", "M30 68C43 64 57 64 70 68"],
  },
  k: {
    body: [
      "M47 22V16H41V10H47V5H53V10H59V16H53V22Z",
      "M29 77C31 70 31 66 27 60C18 50 20 35 34 33C41 32 46 35 50 40C54 35 59 32 66 33C80 35 82 50 73 60C69 66 69 70 71 77Z",
      foot,
      "M50 20C57 25 58 33 50 43C42 33 43 25 50 20Z",
    ],
    detail: ["M50 43V59", "M28 61C42 56 58 56 72 61", "M30 69C43 65 57 65 70 69"],
  },
};
