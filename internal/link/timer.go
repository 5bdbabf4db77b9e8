package link

import "time"

// timer is a path's place in the heap. Its time may be earlier than the path's next
// work (an ACK does not move it), never later.
type timer struct {
	at   time.Duration
	slot int // index in the heap
}

// timers is a heap of paths, earliest first; ties are broken by serial, so that the order
// is deterministic.
type timers []*path

func (t timers) less(i, j int) bool {
	a, b := t[i], t[j]
	if a.timer.at != b.timer.at {
		return a.timer.at < b.timer.at
	}
	return a.serial < b.serial
}

func (t timers) swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].timer.slot, t[j].timer.slot = i, j
}

func (t timers) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !t.less(i, parent) {
			return
		}
		t.swap(i, parent)
		i = parent
	}
}

func (t timers) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(t) {
			return
		}
		if child+1 < len(t) && t.less(child+1, child) {
			child++
		}
		if !t.less(child, i) {
			return
		}
		t.swap(i, child)
		i = child
	}
}

func (t *timers) push(path *path, at time.Duration) {
	path.timer = timer{at, len(*t)}
	*t = append(*t, path)
	t.up(path.timer.slot)
}

// sooner makes the path's timer fire at at or earlier.
func (t timers) sooner(path *path, at time.Duration) {
	if at < path.timer.at {
		path.timer.at = at
		t.up(path.timer.slot)
	}
}

// set changes the time of a path to at.
func (t timers) set(path *path, at time.Duration) {
	path.timer.at = at
	t.up(path.timer.slot)
	t.down(path.timer.slot)
}

func (t *timers) remove(path *path) {
	h := *t
	i, last := path.timer.slot, len(h)-1
	h.swap(i, last)
	h[last] = nil
	*t = h[:last]
	if i < last {
		moved := h[i]
		t.up(i)
		t.down(moved.timer.slot)
	}
}
