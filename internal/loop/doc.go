// Package loop runs one profile: its goroutines and the queues between them. It does not restart them: a
// Runtime that fails ends, and package server starts it again.
//
// Its nouns, and the files that bear their names:
//
//   - a Runtime is one profile that runs: start, journal failure, stop
//     (runtime.go), with its Options (options.go) and its stage for /readyz (stage.go);
//   - an instance is a profile in memory, from its restoring until it
//     ends or the journal fails (instance.go); package tape can record it;
//   - the loop drives the instance and is the only goroutine that calls Step (loop.go).
//     Its writer sends the answers (writer.go), and a stopwatch measures it
//     (stopwatch.go, histogram.go);
//   - the group commit hands frames to the runner (groupcommit.go); the drain moves
//     them from the journal to the store (drain.go) at a pace that leaves processor
//     time for players (drainpacer.go);
//   - the mailbox carries inputs from other goroutines to the loop (mailbox.go): the durable
//     index from the group commit, answers of the store from the loads (loads.go), the
//     state of the store from the storewatch (storewatch.go);
//   - other callers reach the profile by Do and Tell (tell.go), or read its Figures
//     (figures.go);
//   - profiles of the same store exchange changes and queries through package
//     registry (sharedstore.go); a publication is changes that must reach other machines
//     before players get their answers (publication.go);
//   - a handoff makes the loop Frozen and takes its State (freeze.go), which the
//     next process adopts (Adopted, adopt.go);
//   - a panic ends a Runtime, not the process (panic.go).
//
// # Goroutines and queues of one profile
//
// A box is a goroutine. The label on an arrow is the queue and its bound.
//
//	sockets ──Port.Receive──▶┌────────────┐──writer.full, 4 parcels──▶┌────────┐
//	                         │    loop    │◀─writer.sent──────────────│ writer │─▶ Port.Send
//	Do, Tell ──asks, 16─────▶│  (Step)    │                           └────────┘
//	          ┌──mailbox────▶└─┬────────┬─┘
//	          │                │        └─jobs, 2048─▶┌─────────────────┐
//	          │  frames: one   │                      │ 8 or 2 readers  │◀─▶ store
//	          │  group open,   ▼                      │ of loads        │
//	          │  one under way                        └─┬─────────────┬─┘
//	          │     ┌────────────────────┐    mailbox ◀─┘    failures │ 1
//	          ├─────│ runner's committer │─▶ disk              ┌──────▼─────┐
//	          │     └────────────────────┘          mailbox ◀──│ storewatch │─▶ store
//	          │  the journal: no bound but the disk            └──────▲─────┘
//	          │     ┌────────────────────┐                   failures │
//	          └─────│       drain        │────────────────────────────┘
//	     (applied)  └────────────────────┘─▶ store
//	                 backpressure ─▶ loop (drainpacer.go)
//
// Besides these, each lease of numbers and each publication is a goroutine of its own while it asks the store;
// Run waits until all of them have ended.
//
// Invariants:
//
//   - The loop waits for packets. It waits for the disk or its writer only when their
//     backlog is so long that reading more packets would help nobody.
//   - Nothing that belongs to one instance reaches the next.
//   - After a group of frames was refused, no later frame of the same instance is kept.
//   - An error or a panic of one profile ends its Runtime alone.
package loop
