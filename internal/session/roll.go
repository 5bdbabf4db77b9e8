package session

// roll is a list of sessions, the one that came last first.
type roll struct {
	first, last *Session
	n           int
}

// link is the place of a session in its roll.
type link struct {
	roll       *roll
	prev, next *Session
}

func (l *roll) add(s *Session) {
	s.roll, s.prev, s.next = l, nil, l.first
	if l.first != nil {
		l.first.prev = s
	} else {
		l.last = s
	}
	l.first = s
	l.n++
}

func (l *roll) remove(s *Session) {
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		l.first = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		l.last = s.prev
	}
	s.link = link{}
	l.n--
}

// enter moves a session to the front of a roll.
func (l *roll) enter(s *Session) {
	if s.roll == l && l.first == s {
		return
	}
	if s.roll != nil {
		s.roll.remove(s)
	}
	l.add(s)
}
