package runner

import "errors"

// A worker with Concurrency n has n lanes: itself, and n-1 workers of their own that
// claim from the same inbox, each its fair share. What they count is counted by the
// first one, which also has their sinks and policy.

// addLanes adds the lanes of w beside itself; r.mu is held.
func (r *Runner) addLanes(w *Worker) {
	for range w.o.Concurrency - 1 {
		lane := r.newWorker(w.id, w.o)
		lane.lead = w
		lane.p.Store(w.p.Load())
		w.lanes = append(w.lanes, lane)
		r.admit(lane)
	}
}

// head is the worker that counts for w.
func (w *Worker) head() *Worker {
	if w.lead != nil {
		return w.lead
	}
	return w
}

// stopOthers stops the other lanes of a worker that an error has ended.
func (w *Worker) stopOthers() {
	h := w.head()
	if len(h.lanes) == 0 {
		return
	}
	for _, x := range append([]*Worker{h}, h.lanes...) {
		if x != w {
			x.stopOne()
		}
	}
}

// eachLane calls f with the other lanes of w and joins their errors.
func (w *Worker) eachLane(f func(lane *Worker) error) error {
	var errs []error
	for _, lane := range w.lanes {
		errs = append(errs, f(lane))
	}
	return errors.Join(errs...)
}
