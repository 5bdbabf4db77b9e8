// Package link is reliable delivery over datagrams that get lost, duplicated, delayed and
// forged. It is a state machine: no sockets, no clock, no goroutines, no locks. The same calls
// give the same packets, byte for byte.
//
// Its nouns, and the files that bear their names:
//
//   - Endpoint and Client are the two roles. One Endpoint is one listener; one
//     Client is one connection of one user.
//   - path is one session at one remote address: its sequence counter,
//     round-trip time, queue of unacknowledged packets, and whether it has proven
//     itself. The home of a session is the path to which pushes are sent.
//   - session is one run of one client's sequence numbers: window, requests in
//     flight, replay cache. It follows its client from address to address.
//   - Request is a request on its way through the handler, window the memory of
//     the last 1024 sequence numbers, history the fingerprints of the latest
//     requests, answer what is kept for replay.
//   - bundle is an answer in fragments, heldOutputs the outputs behind the durable index.
//   - a seal is what an address proves itself with: a cookie, or the token of an
//     offer.
//   - limiter counts requests, budgets are token buckets of bytes to unproven
//     addresses.
//   - Intake orders the datagrams that wait when more come than can be processed.
//   - Sink takes what is sent; Batch is the Sink that collects.
//
// # A request
//
// What a packet with sequence s does to a session:
//
//	         Receive                Finish(index)           Release(index)
//	unseen ──────────▶ in flight ──────────────▶ held ─────────────────▶ done
//	   ▲                   │  a duplicate is          ACKs, then answers,   │
//	   └───────────────────┘  dropped silently        RTO timers start      │
//	     Abandon, or the                                                    │
//	     session restarts        duplicate: ACK, and the kept answer ◀──────┘
//	                             while it is kept (8 requests, ReplayTTL)
//
// The handler decides at once, but its decision may be shown only when it is durable. So Finish
// names a durable index, and nothing is sent before Release reaches it. A request may stay in flight
// over many steps while something is loaded.
//
// # An answer
//
//	sent ──RTO──▶ sent again ──1.5 RTO──▶ sent a third time ──2.25 RTO──▶ given up
//	  └─────────────────┴──────── ACK ────────┴──▶ delivered; next chunk of a bundle
//
// On a stream (WebSocket) a written packet counts as delivered.
//
// # An address
//
//	unknown ──first valid packet──▶ unproven ──────────────▶ proven ──idle──▶ gone
//	   │                               │   ACK of a packet, or a request,  ▲    ▲
//	   │                               │   with the token vouched for it   │    │
//	   │                               └──────────── idle, or table full ──┼────┘
//	   └───────────────── hello with a cookie (seal.go) ───────────────────┘
//
// A hello with room for a cookie but without a valid one is answered with a cookie; no state is
// kept for it.
//
// An unproven address is sent at most 3 bytes for each byte received, one copy of each packet.
// Further packets wait for more bytes or for the proof, and so does the ACK of a request whose
// answer must wait. The only exceptions are one reply each
// to CLIENT_HELLO, LIST_PROFILES, GET_PROFILE_INFO and GET_ACTIVE_RESERVATIONS, of at most 8
// times the request beyond those bytes, and one of one packet to a request whose token is vouched for, as when a
// NAT moves a player: under a byte budget for each /24 (/48 of IPv6) and for the listener.
//
// # Invariants
//
//   - A packet is parsed before it creates any state.
//   - A reliable request reaches the handler once, however often it arrives and
//     from however many addresses, if its client counts on when it reconnects;
//     CLIENT_HELLO, which is idempotent, may reach it again when its answer is no
//     longer kept.
//   - Only a packet with its token touches a session: its window, its addresses,
//     its queue and its timers. What else comes from its address has a path
//     of its own, unproven, of at most four there.
//   - Every table has a bound. Unproven addresses have 4096 places at most, and a
//     quarter of a full table; the host that has most loses its idlest to a newcomer.
//     No client is refused because a table of counters is full.
//   - No timer scans all paths: each has one place in a heap.
//   - Move in, ACK and update out, ACK in: no allocation.
//
// Time is a time.Duration since an epoch of the caller's choice, and does not run backwards:
// now is never taken as earlier than in a previous call.
package link
