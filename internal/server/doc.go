// Package server is the process that a host runs: profiles over one journal, and
// what they share.
//
// Its nouns, and the files that bear their names:
//
//   - a Server is a data directory, the journal in it, and sockets (server.go,
//     datadir.go);
//   - Stores are the databases of the profiles: those with equal settings share
//     one (store.go);
//   - a runtime is one profile that runs: start, journal failure, stop
//     (runtime.go), with its stage for /readyz (stage.go);
//   - a life is a profile in memory, from its restoring out of the store until it
//     ends or the journal fails (life.go);
//   - the loop drives the life: the only goroutine that calls Step (loop.go);
//   - mail is what others have to tell the loop (mail.go): the journal that
//     frames are durable (journal.go), the loads what the store said (loads.go),
//     the storewatch whether it can be asked (storewatch.go);
//   - the control socket is for the host's commands (control.go), health and
//     metrics are for his monitors (health.go, metrics.go).
//
// How a move travels:
//
//	Port.Receive ─▶ loop: Step ─▶ journal.put ─▶ runner's committer ─▶ disk
//	                  ▲    │                            │
//	                  │    └─▶ Port.Send                ▼
//	                  └──────────── mail ◀── durable ───┘
//
// Invariants:
//
//   - The loop waits for packets only, and for the disk only when so much waits
//     for it that reading more would not help anybody.
//   - Nothing that belongs to one life reaches the next.
//   - After a group of frames was refused, none that was decided on it is kept.
//   - Tokens are never logged.
package server
