// Package loop runs one profile: its goroutines, and the queues between them. It
// does not supervise them: a Runtime that fails ends, and package server starts it
// again.
//
// Its nouns, and the files that bear their names:
//
//   - a Runtime is one profile that runs: start, journal failure, stop
//     (runtime.go), with its stage for /readyz (stage.go);
//   - a life is a profile in memory, from its restoring out of the store until it
//     ends or the journal fails (life.go); it may be recorded, by package tape;
//   - the loop drives the life: the only goroutine that calls Step (loop.go). Its
//     writer sends what follows (writer.go), and a stopwatch measures it
//     (stopwatch.go, histogram.go);
//   - the group commit takes frames to the runner (groupcommit.go), the drain takes
//     them from the journal to the store (drain.go) at a pace that leaves room for
//     players (pace.go);
//   - mail is what others have to tell the loop (mail.go): the group commit that
//     frames are durable, the loads what the store said (loads.go), the storewatch
//     whether the store can be asked (storewatch.go);
//   - whoever else wants something of the profile uses Do and Tell (tell.go), or
//     looks at its Figures (figures.go);
//   - other profiles of the same store are asked and told through package registry
//     (neighbours.go); a posting is news that other machines find before players are
//     answered (posting.go);
//   - a handoff makes the loop Frozen and takes a snapshot (freeze.go), which the
//     next image of the process has Adopted (adopt.go);
//   - a Panic is what ends a Runtime and not the process (panic.go).
//
// # Goroutines and queues of one profile
//
// A box is a goroutine, its queue is named on the arrow with its bound.
//
//	sockets ──Port.Receive──▶┌────────────┐──writer.full, 4 parcels──▶┌────────┐
//	                         │    loop    │◀─writer.sent──────────────│ writer │─▶ Port.Send
//	Do, Tell ──asks, 16─────▶│  (Step)    │                           └────────┘
//	          ┌──mail───────▶└─┬────────┬─┘
//	          │                │        └─jobs, 2048─▶┌─────────────────┐
//	          │  frames: one   │                      │ 8 or 2 readers  │◀─▶ store
//	          │  group open,   ▼                      │ of loads        │
//	          │  one under way                        └─┬─────────────┬─┘
//	          │     ┌────────────────────┐       mail ◀─┘      doubts │ 1
//	          ├─────│ runner's committer │─▶ disk              ┌──────▼─────┐
//	          │     └────────────────────┘             mail ◀──│ storewatch │─▶ store
//	          │  the journal: no bound but the disk            └──────▲─────┘
//	          │     ┌────────────────────┐                     doubts │
//	          └─────│       drain        │────────────────────────────┘
//	     (applied)  └────────────────────┘─▶ store
//	                 brake ─▶ loop (pace.go)
//
// Beside them a lease of numbers is a goroutine of its own while the store is
// asked for it, and so is a posting; Run waits for the end of all of them.
//
// Invariants:
//
//   - The loop waits for packets only, and for the disk or its writer only when
//     so much waits for them that reading more would not help anybody.
//   - Nothing that belongs to one life reaches the next.
//   - After a group of frames was refused, none that was decided on it is kept.
//   - One profile's fault is no other profile's: an error or a panic ends its
//     Runtime alone.
package loop
