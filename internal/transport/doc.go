// Package transport moves packets between this process and the network. It handles sockets,
// frames and limits; the content of packets is left to wire and link.
//
// Its nouns, and the files that bear their names:
//
//   - Packet is the bytes of one packet and its far end, a wamble.Peer.
//   - UDP is a datagram socket for IPv4 and IPv6 that reads and writes in
//     batches (recvmmsg and sendmmsg on Linux) and allocates nothing per packet.
//   - Conn is a WebSocket connection of either role; DialWebSocket opens one.
//   - Port is one port number with UDP, HTTP and WebSocket together. Its
//     gateway does the handshakes, and its inbox collects the packets of
//     connections.
//   - Shards are several ports on one number, one for each loop of a profile;
//     a packet goes to the shard that its token names.
//
// How a loop uses a port:
//
//	for {
//		in, err := port.Receive(deadline)   // datagrams and packets of connections
//		…                                   // decide; in.Ended are peers that are gone
//		err = port.Send(out)
//	}
//
//	UDP ── recvmmsg ──────────────────────┐
//	Conn (goroutine) ── inbox (bounded) ──┤ Receive → the loop → Send ─┬ sendmmsg
//	Wake ─────────────────────────────────┘                           └ outbox (bounded) → Conn's writer
//
// Invariants: the loop blocks only in Receive, and any arrival or Wake ends that; no goroutine
// waits for a far end that does not read, except the writer of its connection, at most
// Timing.Write; everything that a far end can make this process keep is bounded (inbox 1024
// packets and 64 of one connection, outbox 256 KiB, message 4096 bytes, head 8192 bytes,
// connections in all and per host, see connLimiter); one bad destination does not stop a batch.
//
// Sockets may be inherited: AdoptShards and AdoptUDP take them over from descriptors; SyscallConn
// gives access to them for a handoff without changing them.
package transport
