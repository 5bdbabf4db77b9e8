package journal

import (
	"slices"

	"wamble/internal/intent"
)

// barrier keeps intents out of a plan whose outcome depends on others of the
// same plan in a way that the order of kinds does not respect: a session that
// changes its identity twice, and deletions.
type barrier struct {
	identity map[uint64]bool // sessions
	closed   bool
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

// identities returns the sessions whose identity a message changes, and whether
// it holds by itself what its own barrier would keep apart. It cannot be split,
// so it makes a plan by itself then, in its own order.
func (m *Message) identities() (sessions []uint64, alone bool) {
	for rest := m.records; len(rest) > 0; {
		var r record
		r, rest, _ = cut(rest)
		switch r.kind.Row().Barrier {
		case intent.Alone:
			alone = true
		case intent.ChangesIdentity:
			alone = alone || slices.Contains(sessions, r.first())
			sessions = append(sessions, r.first())
		}
	}
	return sessions, alone
}
