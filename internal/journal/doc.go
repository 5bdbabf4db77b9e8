// Package journal is the road of an intent, from the request that made it to
// the row that keeps it.
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
//   - a Frame is the intents of one request, or of several, as bytes (frame.go);
//   - a Message is a frame with its number in the journal (message.go);
//   - a Plan is a run of messages made ready for one transaction (plan.go), where
//     a barrier keeps apart what must not meet in one (barrier.go);
//   - the Drain is the worker of a profile that moves messages into the store
//     (drain.go, run.go);
//   - the feed is the finished games on their way out (feed.go);
//   - Leases are the numbers that rows get before they are written (lease.go).
//
// Invariants: nothing is applied out of order; nothing is applied twice,
// because the cursor moves in the store's own transaction and the next batch
// must begin where it stands; one bad intent never holds up the others.
package journal
