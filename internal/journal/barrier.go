package journal

import (
	"slices"

	"wamble/internal/intent"
)

// barrier keeps messages out of a plan whose order matters, because a plan is sorted by kind: two changes
// of one session's identity, and deletions.
type barrier struct {
	identity map[uint64]bool // sessions whose identity the plan changes
	closed   bool            // the plan takes no further message
}

func (b *barrier) admits(m *Message) bool {
	if b.closed {
		return false
	}
	if !m.barrier {
		return true
	}
	sessions, alone := m.identities()
	return !alone && !slices.ContainsFunc(sessions, func(id uint64) bool { return b.identity[id] })
}

func (b *barrier) add(m *Message) {
	if !m.barrier {
		return
	}
	sessions, alone := m.identities()
	b.closed = alone
	for _, id := range sessions {
		if b.identity == nil {
			b.identity = map[uint64]bool{}
		}
		b.identity[id] = true
	}
}

// identities returns the sessions whose identity a message changes, and whether the message must be a plan
// by itself, in its own order: because it deletes, or changes one identity twice, and a message is never
// split.
func (m *Message) identities() (sessions []uint64, alone bool) {
	for _, r := range m.records() {
		switch r.row.Barrier {
		case intent.Alone:
			alone = true
		case intent.ChangesIdentity:
			alone = alone || slices.Contains(sessions, r.first())
			sessions = append(sessions, r.first())
		}
	}
	return sessions, alone
}
