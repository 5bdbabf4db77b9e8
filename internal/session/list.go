package session

// list is a doubly linked list of sessions, the last added first.
type list struct {
	first, last *Session
	n, bots     int
}

func (l *list) add(s *Session) {
	s.list, s.prev, s.next = l, nil, l.first
	if l.first != nil {
		l.first.prev = s
	} else {
		l.last = s
	}
	l.first = s
	l.n++
	if s.bot {
		l.bots++
	}
}

func (l *list) remove(s *Session) {
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
	s.list, s.prev, s.next = nil, nil, nil
	l.n--
	if s.bot {
		l.bots--
	}
}

// moveToFront moves a session from its list, if any, to the front of l.
func (l *list) moveToFront(s *Session) {
	if s.list == l && l.first == s {
		return
	}
	if s.list != nil {
		s.list.remove(s)
	}
	l.add(s)
}
