package runner

// heap is a binary heap: the first element is before all others.
type heap[T interface{ before(T) bool }] []T

func (h *heap[T]) push(x T) {
	*h = append(*h, x)
	q := *h
	for i := len(q) - 1; i > 0; {
		up := (i - 1) / 2
		if !q[i].before(q[up]) {
			break
		}
		q[up], q[i] = q[i], q[up]
		i = up
	}
}

func (h *heap[T]) pop() T {
	q := *h
	top, last := q[0], len(q)-1
	q[0] = q[last]
	*h = q[:last]
	h.sink(0)
	return top
}

// sink moves element i down to its place.
func (h *heap[T]) sink(i int) {
	q := *h
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(q); c++ {
			if q[c].before(q[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		q[i], q[least] = q[least], q[i]
		i = least
	}
}
