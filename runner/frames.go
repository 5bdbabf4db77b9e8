package runner

// frameList holds encoded messages one after the other, and where they go.
type frameList struct {
	arena []byte
	list  []frameAt
	mixed bool // they do not all go to one band of one inbox
}

// frameAt is one of them: arena[lo:hi].
type frameAt struct {
	lo, hi int
	to     uint64
	band   band
}

// note adds the frame that was just appended to the arena, from lo on.
func (l *frameList) note(lo int, to uint64, b band) {
	if n := len(l.list); n > 0 && (l.list[n-1].to != to || l.list[n-1].band != b) {
		l.mixed = true
	}
	l.list = append(l.list, frameAt{lo, len(l.arena), to, b})
}

func (l *frameList) frame(i int) []byte { return l.arena[l.list[i].lo:l.list[i].hi] }

// reset empties the list and keeps its memory.
func (l *frameList) reset() { l.arena, l.list, l.mixed = l.arena[:0], l.list[:0], false }

// numbers are the sequence numbers that the frames of a list were given. Only
// those of a mixed list have to be remembered one by one.
type numbers struct {
	first uint64
	each  []uint64 // of a mixed list
}

func (n *numbers) at(i int) uint64 {
	if len(n.each) > 0 {
		return n.each[i]
	}
	return n.first + uint64(i)
}

// adopt posts the frames of a list whose arena begins with an empty bundle by
// making that the bundle, in exchange for its memory: they are not copied. It
// reports whether they fit, else nothing is done.
func (c *commit) adopt(l *frameList, n *numbers) bool {
	count := len(l.list)
	if l.mixed || count == 0 || count > maxBundle || len(l.arena) > maxBundleBytes || cap(l.arena) > maxBundleMemory || l.list[0].band != bandNormal {
		return false
	}
	in := c.e.ix.inbox(l.list[0].to)
	if in.open.n > 0 {
		return false
	}
	n.first, n.each = in.next, n.each[:0]
	in.next += uint64(count)
	c.arrive(in, n.first, count, bandNormal)
	in.open.first, in.open.n = n.first, uint32(count)
	in.open.value, l.arena = l.arena, in.open.value
	return true
}

// postAll posts the frames of a list in its order.
func (c *commit) postAll(l *frameList, n *numbers) {
	n.each = n.each[:0]
	switch {
	case l.mixed:
		for i := range l.list {
			n.each = append(n.each, c.post(l.list[i].to, l.list[i].band, l.frame(i)))
		}
	case len(l.list) > 0 && l.list[0].band == bandNormal:
		n.first = c.postRun(l.list[0].to, l.arena, l.list)
	case len(l.list) > 0:
		n.first = c.e.ix.inbox(l.list[0].to).next
		for i := range l.list {
			c.post(l.list[i].to, l.list[i].band, l.frame(i))
		}
	}
}

// post appends a frame to the worker's inbox and returns its number.
func (c *commit) post(worker uint64, b band, frame []byte) uint64 {
	if b == bandNormal {
		return c.postRun(worker, frame, []frameAt{{hi: len(frame)}})
	}
	in := c.e.ix.inbox(worker)
	seq := in.next
	in.next++
	c.insert(in, seq, b, frame)
	return seq
}

// postRun appends frames that follow each other in arena to the worker's inbox,
// with ordinary priority, and returns the number of the first.
func (c *commit) postRun(worker uint64, arena []byte, run []frameAt) uint64 {
	in := c.e.ix.inbox(worker)
	first := in.next
	in.next += uint64(len(run))
	c.arrive(in, first, len(run), bandNormal)
	for i := 0; i < len(run); {
		i += c.pack(in, first+uint64(i), arena, run[i:])
	}
	return first
}
