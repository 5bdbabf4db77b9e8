package intent

import (
	"errors"
	"fmt"
	"time"
)

// Intent is one durable effect of a request. It is complete when it is born:
// it carries its numbers and its time, so that writing it later, or once more,
// changes nothing. Its types are pointers to those of this package and no
// others.
//
// Times in intents are when a thing happened, not when it was written; they
// are kept to the microsecond, as PostgreSQL keeps them.
type Intent interface {
	Kind() Kind
	// code writes or reads the fields. Fields are only ever added at the end.
	code(coder) coder
	// check compares the fields with what the columns of the stores hold.
	check(checker) checker
}

// Intents takes what the rooms decide, in order. Add is done with the intent
// when it returns: the room that passed it uses its memory again.
type Intents interface {
	Add(Intent)
}

// ErrFields is returned when bytes are not the fields of an intent.
var ErrFields = errors.New("not the fields of an intent")

// AppendFields appends the fields of an intent to dst. It allocates nothing but
// what dst needs to grow.
func AppendFields(dst []byte, in Intent) []byte { return AppendFieldsLater(dst, in, 0) }

// AppendFieldsLater is AppendFields of an intent whose times are moved by later.
func AppendFieldsLater(dst []byte, in Intent, later time.Duration) []byte {
	return in.code(coder{buf: dst, later: later}).buf
}

// ReadFields sets the fields of an intent from what AppendFields wrote. Bytes
// behind the last field are left alone: a newer binary may have added fields.
// The intent shares no memory with them. Errors: ErrFields.
func ReadFields(fields []byte, in Intent) error {
	if in.code(coder{buf: fields, read: true}).bad {
		return ErrFields
	}
	return nil
}

// A Violation is an intent that no store will ever take.
type Violation struct {
	Kind   Kind
	Reason string
}

func (e *Violation) Error() string { return fmt.Sprintf("%v: %s", e.Kind, e.Reason) }

// Check reports what is wrong with an intent before a database sees it, in the
// same words for every store. Errors: *Violation.
func Check(in Intent) error {
	if c := in.check(checker{}); c.reason != "" {
		return &Violation{Kind: in.Kind(), Reason: c.reason}
	}
	return nil
}
