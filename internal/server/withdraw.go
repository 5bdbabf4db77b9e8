package server

import (
	"slices"
	"time"

	"wamble/internal/placement"
	"wamble/internal/store/postgres/pglog"
)

// withdrawal is how a machine of a placed world stops: it says so with its next beat, so
// that nobody gives it anything, and leaves its parts to the others, one after another,
// while its ports and the mesh go on. Whatever is left then ends as on a machine that is
// alone: when no other one stays, everything is.
type withdrawal struct {
	until time.Time     // it takes no longer
	done  chan struct{} // closed by keepPlaces: nothing is left to do

	// Of keepPlaces:
	over bool
	left time.Duration // when the last part was left, since the start
}

// withdrawing is in what a machine says of its shards while it withdraws, in the place of
// a profile: no profile has this name. Machines that do not know it see one without shards.
const withdrawing = "/withdrawing"

// heirTime is how long a machine that withdraws waits for the next one to claim a part.
const heirTime = 2 * time.Second

// withdraw leaves the parts of this machine to the others, as far as there is time.
func (s *Server) withdraw(patience time.Duration) {
	if s.placing.stop == nil || patience <= 0 {
		return
	}
	s.cease()
	w := &withdrawal{until: time.Now().Add(patience), done: make(chan struct{})}
	s.placing.withdrawal.Store(w)
	s.cluster.log.Hasten(s.cluster.name)
	select {
	case <-w.done:
	case <-s.placing.ended:
	case <-time.After(patience):
		s.log.Warn("there was no time to leave all parts of the world to other machines; they claim what is left")
	}
}

// takes reports whether a part that is for this machine is claimed. One that it has left
// seems to be its own until the next beat; one that was on its way here goes on to another.
func (w *withdrawal) takes(sight pglog.Sight) bool { return w == nil || !w.over && !sight.Self }

// end is called by keepPlaces when nothing is left to do.
func (w *withdrawal) end() {
	if !w.over {
		w.over = true
		close(w.done)
	}
}

// leaveNext leaves the next part to one of the machines that stay, if the one before has
// arrived there. Heirs are those of them that parts are given to; busy is whether a part
// comes or goes here.
func (s *Server) leaveNext(w *withdrawal, holders, stay, heirs []string, busy, joined bool) {
	self, now := nodeName(s.o.Config), time.Since(s.started)
	if w.over {
		return
	}
	if busy {
		w.left = now
		return
	}
	if len(stay) == 0 {
		w.end()
		return
	}
	if slices.Contains(holders, "") && now-w.left < heirTime {
		return
	}
	part := slices.Index(holders, self)
	if part < 0 || time.Now().After(w.until) {
		w.end()
		return
	}
	if len(heirs) == 0 {
		heirs = stay
	}
	free := slices.Clone(holders)
	for k, holder := range free {
		if holder == self {
			free[k] = ""
		}
	}
	to := placement.Assign(free, heirs)[part]
	if !joined {
		to = placement.Leader(holders, stay)
	}
	s.log.Info("a part of the world moves: this machine stops", "part", part, "to", to)
	w.left = now // it may be gone before anybody looks again
	s.leavePart(s.partOf(part), to, true)
}
