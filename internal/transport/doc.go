// Package transport moves packets between this process and the network. It
// knows sockets, frames and limits; what a packet says is for others.
//
// Its nouns, and the files that bear their names:
//
//   - Packet is bytes and their far end, a wamble.Peer.
//   - UDP is a datagram socket for IPv4 and IPv6 that reads and writes in
//     batches (recvmmsg and sendmmsg on Linux) and allocates nothing per packet.
//   - Conn is a WebSocket connection of either role; DialWebSocket opens one.
//   - Port is one port number with UDP, HTTP and WebSocket together. Its
//     gateway does the handshakes, and its inbox collects what connections
//     send.
//   - Shards are several ports on one number, one for each loop of a profile;
//     a packet goes to the one that its token names.
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
// Invariants: the loop waits only in Receive, and any arrival or Wake ends
// that; nobody waits for a far end that does not read; everything that a far
// end can make us keep is bounded (inbox 1024 packets and 64 of one
// connection, outbox 256 KiB, message 4096 bytes, head 8192 bytes, connections
// in all and per host, see places); one bad destination does not stop a batch.
//
// Sockets may be inherited: Adopt and AdoptUDP take them over from
// descriptors, and SyscallConn gives them away without disturbing them.
package transport
