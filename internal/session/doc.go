// Package session is who plays: sessions by their tokens, the identities behind
// them, and how one proves to have one. It is a pure room: it is handed the
// time, the numbers of rows and its entropy, and says what is to be kept as
// intents.
//
// Its nouns, and the files that bear their names:
//
//   - a Session is the stay of one player in memory, named by its token;
//   - the Table is all of them, and the four rolls in which they stand;
//   - a hello makes a new session, admit takes one in from the store;
//   - hosts count the new sessions of an address;
//   - an Identity is a key with what all its sessions have won together;
//   - a challenge is what a player signs to prove that a key is his, and
//     VerifyLogin the proof (challenge.go, login.go).
//
// Who is in which roll:
//
//	         Hello                 Heard
//	nobody ────────▶ fresh ─────────────────▶ live ◀──────── Heard ───┐
//	   ▲               │                       │                      │
//	   │               │ Unconfirmed           │ Away                 │
//	   │               ▼                       ▼                      │
//	   │           departing ◀── no board ─────┴───── holds one ───▶ idle
//	   │             │ ▲ │                                            │
//	   └─────────────┘ │ └── Heard ──▶ live                           │
//	  the store has    └──────────────────────────────────────────────┘
//	  all of it                Expiration, or Unseated
//
// Invariants:
//
//   - A session leaves memory only after the store has applied the last intent
//     that concerned it, so what is read again is what was written. The one
//     exception is a session that is over: its token is refused from then on.
//   - Nobody comes in while fresh and live ones are MaxPlayers, or departing
//     ones are; idle ones hold a board each. Who is idle or departing is known,
//     and never refused when he comes back.
//   - All rolls but departing are in the order of the last sign of life.
//   - A token is never zero, and never given out twice.
//   - Time never goes back: an earlier now counts as the latest one seen.
package session
