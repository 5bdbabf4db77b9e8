package link

import (
	"slices"
	"time"
)

// bundle is an answer in fragments. One chunk at a time is sent; its ACK triggers the next. A
// path's bundles are sent one after the other, because a client joins one transfer at a
// time; but a client that never acknowledges gets the first chunk of each, and no other one.
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
	// The answer to an unproven address has its memory already: see refusesBundle.
	if len(path.bundles) >= maxBundles || !b.chunks[0].unproven && e.isOverMemory(false) {
		e.stats.GivenUp++
		e.dropBundle(&b)
		return
	}
	path.bundles = append(path.bundles, b)
	if len(path.bundles) == 1 || !path.acks {
		e.sendChunk(now, path, len(path.bundles)-1, right, out)
	}
}

// sendChunk queues the current chunk of bundle i.
func (e *Endpoint) sendChunk(now time.Duration, path *path, i int, right *exemption, out Sink) {
	k := path.bundles[i].chunks[path.bundles[i].at]
	k.refs++
	e.push(now, path, pending{k: k, chunk: true}, right, out)
}

// nextChunk continues bundle i after the ACK of its current chunk.
func (e *Endpoint) nextChunk(now time.Duration, path *path, i int, out Sink) {
	b := &path.bundles[i]
	if b.at++; b.at < len(b.chunks) {
		e.sendChunk(now, path, i, nil, out)
		return
	}
	e.endBundle(now, path, i, out)
}

// endBundle drops bundle i, delivered or given up, and starts the next one if none is being sent.
func (e *Endpoint) endBundle(now time.Duration, path *path, i int, out Sink) {
	e.removeBundle(path, i)
	if len(path.bundles) > 0 && !slices.ContainsFunc(path.queue, func(p pending) bool { return p.chunk }) {
		e.sendChunk(now, path, 0, nil, out)
	}
}

func (e *Endpoint) removeBundle(path *path, i int) {
	e.dropBundle(&path.bundles[i])
	path.bundles = slices.Delete(path.bundles, i, i+1)
}

// bundleOf returns the index of the bundle whose current chunk is k, -1 if there is none.
func (p *path) bundleOf(k *packet) int {
	return slices.IndexFunc(p.bundles, func(b bundle) bool { return b.chunks[b.at] == k })
}

func (e *Endpoint) dropBundle(b *bundle) {
	for _, k := range b.chunks {
		e.pool.drop(k)
	}
	b.chunks = nil
}

// bundled reports whether the transfer that begins with k is queued for the path.
func (p *path) bundled(k *packet) bool {
	for i := range p.bundles {
		if p.bundles[i].chunks[0] == k {
			return true
		}
	}
	return false
}
