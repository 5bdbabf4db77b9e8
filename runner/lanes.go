package runner

import "errors"

// A worker with Concurrency n has n lanes: itself, and n-1 further workers that claim from the
// same inbox, each its fair share. The first one has their counters.

// addLanes adds the further lanes of w; r.mu is held.
func (r *Runner) addLanes(w *Worker) {
	for range w.o.Concurrency - 1 {
		lane := r.newWorker(w.id, w.o)
		lane.lead = w
		w.lanes = append(w.lanes, lane)
		r.admit(lane)
	}
}

// head returns the worker that has the counters of w.
func (w *Worker) head() *Worker {
	if w.lead != nil {
		return w.lead
	}
	return w
}

// stopOthers stops the other lanes when an error has ended w.
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

// eachLane calls f with the further lanes of w and joins their errors.
func (w *Worker) eachLane(f func(lane *Worker) error) error {
	var errs []error
	for _, lane := range w.lanes {
		errs = append(errs, f(lane))
	}
	return errors.Join(errs...)
}
