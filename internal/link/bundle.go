package link

import "time"

// bundle is an answer in fragments. One chunk at a time is sent; its ACK triggers the next. An
// endpoint's bundles are sent one after the other, because a client joins one transfer at a
// time.
type bundle struct {
	chunks []*packet
	at     int // the chunk that is sent, or to be sent next
}

// addBundle queues a bundle and takes over its references.
func (s *Server) addBundle(now time.Duration, e *endpoint, b bundle, right *exemption, out Sink) {
	if e.peer.Stream() {
		for _, k := range b.chunks[b.at:] {
			s.emit(e, k, out)
		}
		s.dropBundle(&b)
		return
	}
	if len(e.bundles) >= maxBundles || s.crowded() {
		s.stats.GivenUp++
		s.dropBundle(&b)
		return
	}
	e.bundles = append(e.bundles, b)
	if len(e.bundles) == 1 {
		s.sendChunk(now, e, right, out)
	}
}

// sendChunk queues the current chunk of the first bundle.
func (s *Server) sendChunk(now time.Duration, e *endpoint, right *exemption, out Sink) {
	k := e.bundles[0].chunks[e.bundles[0].at]
	k.refs++
	s.push(now, e, pending{k: k, chunk: true}, right, out)
}

// nextChunk continues after the ACK of the current chunk.
func (s *Server) nextChunk(now time.Duration, e *endpoint, out Sink) {
	b := &e.bundles[0]
	if b.at++; b.at < len(b.chunks) {
		s.sendChunk(now, e, nil, out)
		return
	}
	s.endBundle(now, e, out)
}

// endBundle drops the first bundle, delivered or given up, and starts the next.
func (s *Server) endBundle(now time.Duration, e *endpoint, out Sink) {
	s.dropBundle(&e.bundles[0])
	e.bundles = append(e.bundles[:0], e.bundles[1:]...)
	if len(e.bundles) > 0 {
		s.sendChunk(now, e, nil, out)
	}
}

func (s *Server) dropBundle(b *bundle) {
	for _, k := range b.chunks {
		s.pool.drop(k)
	}
	b.chunks = nil
}

// bundled reports whether the transfer that begins with k is queued for e.
func (e *endpoint) bundled(k *packet) bool {
	for i := range e.bundles {
		if e.bundles[i].chunks[0] == k {
			return true
		}
	}
	return false
}
