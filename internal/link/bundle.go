package link

import "time"

// bundle is an answer in fragments. One chunk at a time is sent; its ACK triggers the next. An
// path's bundles are sent one after the other, because a client joins one transfer at a
// time.
type bundle struct {
	chunks []*packet
	at     int // the chunk that is sent, or to be sent next
}

// addBundle queues a bundle and takes over its references.
func (e *Endpoint) addBundle(now time.Duration, path *path, b bundle, right *exemption, out Sink) {
	if path.peer.Stream() {
		for _, k := range b.chunks[b.at:] {
			e.emit(path, k, out)
		}
		e.dropBundle(&b)
		return
	}
	if len(path.bundles) >= maxBundles || e.isOverMemory() {
		e.stats.GivenUp++
		e.dropBundle(&b)
		return
	}
	path.bundles = append(path.bundles, b)
	if len(path.bundles) == 1 {
		e.sendChunk(now, path, right, out)
	}
}

// sendChunk queues the current chunk of the first bundle.
func (e *Endpoint) sendChunk(now time.Duration, path *path, right *exemption, out Sink) {
	k := path.bundles[0].chunks[path.bundles[0].at]
	k.refs++
	e.push(now, path, pending{k: k, chunk: true}, right, out)
}

// nextChunk continues after the ACK of the current chunk.
func (e *Endpoint) nextChunk(now time.Duration, path *path, out Sink) {
	b := &path.bundles[0]
	if b.at++; b.at < len(b.chunks) {
		e.sendChunk(now, path, nil, out)
		return
	}
	e.endBundle(now, path, out)
}

// endBundle drops the first bundle, delivered or given up, and starts the next.
func (e *Endpoint) endBundle(now time.Duration, path *path, out Sink) {
	e.dropBundle(&path.bundles[0])
	path.bundles = append(path.bundles[:0], path.bundles[1:]...)
	if len(path.bundles) > 0 {
		e.sendChunk(now, path, nil, out)
	}
}

func (e *Endpoint) dropBundle(b *bundle) {
	for _, k := range b.chunks {
		e.pool.drop(k)
	}
	b.chunks = nil
}

// bundled reports whether the transfer that begins with k is queued for e.
func (p *path) bundled(k *packet) bool {
	for i := range p.bundles {
		if p.bundles[i].chunks[0] == k {
			return true
		}
	}
	return false
}
