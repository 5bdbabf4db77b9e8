// Package session is the sessions of players by their tokens, the identities behind them, and the proof of
// an identity. It is pure: it is given the time, the numbers of rows and its entropy, and returns what must
// be stored as intents.
//
// Its nouns, and the files that bear their names:
//
//   - a Session is the stay of one player in memory, found by its token;
//   - the Table is all sessions, in four lists;
//   - a hello makes a new session, Admit and Restore take one in from the store;
//   - a session ends by Goodbye, Logout, Kick or silence (leave.go);
//   - hosts count the new sessions of each address (host.go);
//   - an Identity is a key, and who has it; totals are the store's;
//   - a token names a session; a login renews it, or binds it to a host;
//   - decisions of other profiles of the same store are applied by otherprofiles.go;
//   - a challenge is what a player signs to prove that they own a key, and
//     VerifyLogin checks the proof (challenge.go, login.go).
//
// The lists, and the transitions between them:
//
//	         Hello              NoteActivity
//	nobody ────────▶ fresh ─────────────────▶ live ◀─── NoteActivity ─┐
//	   ▲               │                       │                      │
//	   │               │ Unconfirmed           │ Away                 │
//	   │               ▼                       ▼                      │
//	   │           departing ◀── no board ─────┴───── holds one ───▶ idle
//	   │             │ ▲ │                                            │
//	   └─────────────┘ │ └── NoteActivity ──▶ live                    │
//	  the store has    └──────────────────────────────────────────────┘
//	  all of it                Expiration, or NoteBoardLost
//
// Invariants:
//
//   - A session leaves memory only after the store has applied the last intent
//     that concerned it, so what is read again is what was written. The only
//     exception is a session that has ended: its token is refused from then on.
//   - No session is added while MaxPlayers are fresh or live and none of these can be
//     evicted, or while MaxPlayers are departing; idle ones hold a board each. A player
//     whose session is idle or departing is never refused when they come back.
//   - All lists but departing are in the order of the last sign of life.
//   - A token is never zero, and never issued twice.
//   - Time never goes back: an earlier now counts as the latest one seen.
package session
