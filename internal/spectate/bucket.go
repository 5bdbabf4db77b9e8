package spectate

// bucket is a token bucket of packets. Its unit is a millionth of a packet, so that a rate per second times
// microseconds needs no division.
type bucket struct {
	tokens int64
	at     int64 // when it was last filled
}

const one = 1_000_000 // packet

// unbounded is the rate that stands for no bound.
const unbounded = 100_000_000

// refill adds the tokens since the last fill, up to burst packets in all.
func (b *bucket) refill(now, rate, burst int64) {
	elapsed := min(now-b.at, slowness*second)
	b.at = now
	b.tokens = min(b.tokens+rate*elapsed, max(burst, 1)*one)
}

// packets returns how many packets may be sent now.
func (b *bucket) packets() int { return int(max(b.tokens, 0) / one) }

// spend takes n packets, even more than there are: then later ones wait.
func (b *bucket) spend(n int) { b.tokens -= int64(n) * one }

// totalRate returns the packets per second of all watchers.
func (h *Hub) totalRate() int64 {
	rate := int64(h.opts.Total)
	if rate == 0 {
		rate = unbounded
	}
	if h.slow {
		rate = max(rate/slowness, 1)
	}
	return rate
}

// rate returns the packets per second of one watcher: the smaller of the bound per watcher and an equal
// share of the bound of all.
func (h *Hub) rate() int64 {
	rate := h.totalRate() / int64(max(len(h.watchers), 1))
	if own := int64(h.opts.PerWatcher); own > 0 {
		if h.slow {
			own = max(own/slowness, 1)
		}
		rate = min(rate, own)
	}
	return max(rate, 1)
}

// refill fills the allowance of a watcher, and returns how many packets they may be sent now.
func (h *Hub) refill(w *watcher) int {
	rate := h.rate()
	w.allowance.refill(h.now, rate, rate*max(h.period(w.state), second)/second)
	return min(w.allowance.packets(), h.total.packets())
}

// spend takes packets from the buckets of a watcher and of all.
func (h *Hub) spend(w *watcher, n int) {
	w.allowance.spend(n)
	h.total.spend(n)
}
