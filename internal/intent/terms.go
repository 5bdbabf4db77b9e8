package intent

import (
	"time"

	"wamble"
)

// RecordTermsAcceptance says that a session has accepted the terms of a profile. The text is stored once
// per hash. The first intent of a process with a hash has the text, the others only the hash.
type RecordTermsAcceptance struct {
	Session wamble.SessionID
	Profile string
	Hash    [32]byte // BLAKE2b-256 of Text
	Text    string   // "": sent before
	At      time.Time
}

func (*RecordTermsAcceptance) Kind() Kind { return KindRecordTermsAcceptance }

func (in *RecordTermsAcceptance) code(c coder) coder {
	return c.session(&in.Session).text(&in.Profile).bytes(in.Hash[:]).text(&in.Text).time(&in.At)
}

func (in *RecordTermsAcceptance) check(c checker) checker {
	return c.session(in.Session).text("profile", in.Profile, 1, MaxProfile).text("terms", in.Text, 0,
		maxTerms).at(in.At)
}
