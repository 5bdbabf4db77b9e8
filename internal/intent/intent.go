package intent

import (
	"errors"
	"fmt"
	"time"
)

// Intent is one durable effect of a request. It carries its numbers and its time, so that writing it later,
// or twice, changes nothing. Its types are pointers to those of this package and no others.
//
// The time of an intent is when the effect happened, not when it was written, to the microsecond as in
// PostgreSQL.
type Intent interface {
	Kind() Kind
	// code writes or reads the fields. New fields are only added at the end.
	code(coder) coder
	// check compares the fields with what the columns of the stores can hold.
	check(checker) checker
}

// Intents takes decisions, in order. Add does not retain the intent: the caller reuses its memory.
type Intents interface {
	Add(Intent)
}

// ErrFields is returned for bytes that are not the fields of an intent.
var ErrFields = errors.New("not the fields of an intent")

// AppendFields appends the fields of an intent, whose times are moved by later, to dst. It allocates only if dst must
// grow.
func AppendFields(dst []byte, in Intent, later time.Duration) []byte {
	return in.code(coder{buf: dst, later: later}).buf
}

// ReadFields sets the fields of an intent from what AppendFields wrote. Bytes behind the last field are
// ignored: a newer binary may have added fields. The intent shares no memory with them. Errors: ErrFields.
func ReadFields(fields []byte, in Intent) error {
	if in.code(coder{buf: fields, read: true}).bad {
		return ErrFields
	}
	return nil
}

// A Violation is returned for an intent that no store will ever take.
type Violation struct {
	Kind   Kind
	Reason string
}

func (e *Violation) Error() string { return fmt.Sprintf("%v: %s", e.Kind, e.Reason) }

// Check checks an intent before a database sees it, with the same texts for every store. Errors:
// *Violation.
func Check(in Intent) error {
	if c := in.check(checker{}); c.reason != "" {
		return &Violation{Kind: in.Kind(), Reason: c.reason}
	}
	return nil
}
