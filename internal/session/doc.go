// Package session is who plays: sessions by their tokens, the identities behind
// them, and how a player proves to have one. It is a pure room: it is handed the
// time, the numbers of rows and its entropy, and returns what is to be stored as
// intents.
//
// Its nouns, and the files that bear their names:
//
//   - a Session is the stay of one player in memory, named by its token;
//   - the Table is all sessions, in four lists;
//   - a hello makes a new session, Admit and Restore take one in from the store;
//   - hosts count the new sessions of an address;
//   - an Identity is a key with what all its sessions have won together;
//   - a token names a session; a login renews it, or binds it to a host;
//   - what other profiles of the same store decided is told in elsewhere.go;
//   - a challenge is what a player signs to prove that a key is his, and
//     VerifyLogin the proof (challenge.go, login.go).
//
// Who is in which list:
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
//   - Nobody comes in while MaxPlayers sessions are fresh or live, or MaxPlayers
//     are departing; idle ones hold a board each. A player whose session is idle
//     or departing is never refused when he comes back.
//   - All lists but departing are in the order of the last sign of life.
//   - A token is never zero, and never given out twice.
//   - Time never goes back: an earlier now counts as the latest one seen.
package session
