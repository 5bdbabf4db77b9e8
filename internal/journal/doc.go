// Package journal carries intents from the request that makes them to the store.
//
//	request ──▶ Append ──▶ journal (runner inbox, durable) ──▶ answer leaves
//	                           │
//	                           ▼  in order, one worker per profile
//	                        Drain: decode ─▶ Plan ─▶ Store.Apply ─▶ ack
//	                                          │          │
//	                          coalesce, sort, │          ├ transient: back off, keep the batch
//	                          bound a batch   │          └ permanent: Probe, failing intents to
//	                                          │            the dead letters, the rest applies
//
// Its nouns:
//
//   - a frame is the intents of one request, or of several of one step that were
//     joined, as bytes (frame.go);
//   - a Message is a frame with its number in the journal (message.go);
//   - a Plan is consecutive messages prepared for one transaction (plan.go); a
//     barrier separates messages that must not share one (barrier.go);
//   - the Drain is the worker of a profile that moves messages into the store
//     (drain.go, run.go);
//   - retained messages are files of what the store has, for a backup, and for a store that
//     goes back to an earlier state, which is a Rollback (retained.go, pin.go, rollback.go);
//   - the feed is the finished games, as lines for other programs (feed.go); an Event is a move
//     or the end of a game, for observers (event.go);
//   - Leases are the numbers that rows get before they are written (lease.go).
//
// Invariants: intents are applied in order; each is applied once, because the cursor moves in the store's
// own transaction and the next batch must begin at it; one bad intent never holds up the others.
package journal
