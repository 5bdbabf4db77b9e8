package loader

import "time"

// sockets are the sockets of all clients. A client sends from, and receives at,
// the address with its number.
type sockets interface {
	// receive waits for datagrams, at most tick, and returns what is there,
	// perhaps nothing. It is good until the next call.
	receive() ([]datagram, error)
	// send queues a packet; the bytes are copied.
	send(number uint32, packet []byte)
	// flush sends what is queued. What the kernel does not take is lost.
	flush() error
	// addresses is how many numbers there are, from 0.
	addresses() uint32
	// dropped counts datagrams that came while the receive buffer was full.
	dropped() uint64
	close()
}

// datagram is bytes for the client with a number.
type datagram struct {
	number uint32
	data   []byte
}

// tick is the longest that receive waits: how exact timers are.
const tick = 10 * time.Millisecond
