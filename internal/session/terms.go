package session

import "encoding/binary"

// Revision is a short id of one revision of a profile's terms: the first 8 bytes of its hash, made even. It
// is never 0.
type Revision uint64

// RevisionOf returns the revision of a hash.
func RevisionOf(hash [32]byte) Revision {
	r := Revision(binary.LittleEndian.Uint64(hash[:])) &^ 1
	if r == 0 {
		return 2
	}
	return r
}

// terms is what is known of a session's acceptance: 0 nothing, a revision that it was not accepted, a
// revision plus 1 that it was.
type terms uint64

// Terms reports whether the session has accepted a revision, and whether that is known.
func (s *Session) Terms(r Revision) (accepted, known bool) {
	return s.terms == terms(r)+1, s.terms&^1 == terms(r)
}

// SetTerms sets whether the session has accepted a revision.
func (s *Session) SetTerms(r Revision, accepted bool) {
	s.terms = terms(r)
	if accepted {
		s.terms++
	}
}
