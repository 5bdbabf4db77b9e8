package readapi

import (
	"context"
	"net/netip"
	"slices"
	"sync"
)

// turns gives a number of slots to queries. While none is free, the hosts whose queries wait take turns, so that
// one host with many delays a query of another by one of its own.
type turns struct {
	mu      sync.Mutex
	free    int                              // 0 while a query waits
	waiting map[netip.Prefix][]chan struct{} // by host, oldest first; a channel is closed with the slot
	order   []netip.Prefix                   // of the hosts with waiting queries
}

// maxHostWaits is how many queries of a host wait.
const maxHostWaits = 32

// take waits for a slot. Errors: errBusy if ctx ends before, or too many queries of the host wait.
func (q *turns) take(ctx context.Context, host netip.Prefix) error {
	q.mu.Lock()
	if q.free > 0 {
		q.free--
		q.mu.Unlock()
		return nil
	}
	list := q.waiting[host]
	if len(list) >= maxHostWaits {
		q.mu.Unlock()
		return errBusy
	}
	if len(list) == 0 {
		q.order = append(q.order, host)
	}
	if q.waiting == nil {
		q.waiting = map[netip.Prefix][]chan struct{}{}
	}
	got := make(chan struct{})
	q.waiting[host] = append(list, got)
	q.mu.Unlock()
	select {
	case <-got:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.Index(q.waiting[host], got)
	if at < 0 {
		return nil // give was faster
	}
	q.leave(host, at)
	return errBusy
}

// give returns a slot: the next host gets it, or it is free.
func (q *turns) give() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.order) == 0 {
		q.free++
		return
	}
	host := q.order[0]
	close(q.waiting[host][0])
	q.order = append(q.order[1:], host)
	q.leave(host, 0)
}

// leave removes a waiting query of a host.
func (q *turns) leave(host netip.Prefix, at int) {
	q.waiting[host] = slices.Delete(q.waiting[host], at, at+1)
	if len(q.waiting[host]) == 0 {
		delete(q.waiting, host)
		q.order = slices.DeleteFunc(q.order, func(p netip.Prefix) bool { return p == host })
	}
}
