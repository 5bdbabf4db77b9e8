package intent

import (
	"time"

	"wamble"
)

// RecordTermsAcceptance says that a session accepted the terms of a profile.
// The text is kept once per hash, and is in the first intent of a process with
// that hash; the others name the hash alone.
type RecordTermsAcceptance struct {
	Session wamble.SessionID
	Profile string
	Hash    [32]byte // BLAKE2b-256 of Text
	Text    string   // "": was said before
	At      time.Time
}

func (*RecordTermsAcceptance) Kind() Kind { return KindRecordTermsAcceptance }

func (in *RecordTermsAcceptance) code(c coder) coder {
	return c.session(&in.Session).text(&in.Profile).bytes(in.Hash[:]).text(&in.Text).time(&in.At)
}

func (in *RecordTermsAcceptance) check(c checker) checker {
	return c.session(in.Session).text("profile", in.Profile, 1, MaxProfile).text("terms", in.Text, 0, maxTerms).at(in.At)
}
