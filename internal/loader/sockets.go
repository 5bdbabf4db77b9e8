package loader

import "time"

// sockets are the sockets of all clients. A client sends from, and receives at,
// the address with its number.
type sockets interface {
	// receive waits at most tick for datagrams and returns those that are there. The result is
	// valid until the next call.
	receive() ([]datagram, error)
	// send queues a copy of a packet.
	send(number uint32, packet []byte)
	// flush sends the queued packets. Those that the kernel refuses are lost.
	flush() error
	// addresses returns the number of addresses; their numbers begin at 0.
	addresses() uint32
	// dropped returns how many datagrams were lost because the receive buffer was full.
	dropped() uint64
	close()
}

// datagram is the data for the address with a number.
type datagram struct {
	number uint32
	data   []byte
}

// tick is the longest wait of receive, and the resolution of timers.
const tick = 10 * time.Millisecond
