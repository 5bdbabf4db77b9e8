// Package server is the process that a host runs: profiles over one journal, and
// what they share.
//
// Its nouns, and the files that bear their names:
//
//   - a Server is a data directory, the journal in it, and sockets (server.go,
//     datadir.go, pidfile.go);
//   - its house is what runs at present (house.go): keepers, each of which keeps
//     one profile running (keeper.go, crash.go), and departures of profiles that
//     were removed (departure.go);
//   - a port is lent to a runtime; sockets are matched by their berths (ports.go),
//     and what keeps profiles from starting is a StartStatus (start.go);
//   - a reload is a plan that is applied (plan.go, reload.go);
//   - Stores are the databases of the profiles: those with equal settings share
//     one (store.go);
//   - a runtime is one profile that runs: start, journal failure, stop
//     (runtime.go), with its stage for /readyz (stage.go);
//   - a life is a profile in memory, from its restoring out of the store until it
//     ends or the journal fails (life.go);
//   - the loop drives the life: the only goroutine that calls Step (loop.go);
//     its writer sends what follows (writer.go);
//   - mail is what others have to tell the loop (mail.go): the journal that
//     frames are durable (journal.go), the loads what the store said (loads.go),
//     the storewatch whether it can be asked (storewatch.go);
//   - what the host can tell a server is package host's; it finds here what it
//     needs (host.go, retention.go); health and metrics are for his monitors
//     (health.go, metrics.go, behind the admin listener: admin.go), the log for
//     both (log.go).
//
// How a move travels:
//
//	Port.Receive ─▶ loop: Step ─▶ journal.put ─▶ runner's committer ─▶ disk
//	                  ▲    │                            │
//	                  │    └─▶ writer: Port.Send        ▼
//	                  └──────────── mail ◀── durable ───┘
//
// Invariants:
//
//   - The loop waits for packets only, and for the disk or its writer only when
//     so much waits for them that reading more would not help anybody.
//   - Nothing that belongs to one life reaches the next.
//   - After a group of frames was refused, none that was decided on it is kept.
//   - Tokens are never logged.
//   - One profile's fault is no other profile's: an error or a panic ends its
//     runtime alone.
//   - A port that stays in use is never unbound; a reload that is refused has
//     changed nothing.
package server
