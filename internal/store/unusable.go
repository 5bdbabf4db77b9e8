package store

import "fmt"

// Unusable is an error that does not pass by itself: someone must repair the database or the
// configuration. It wraps ErrTransient, because the same call succeeds afterwards.
type Unusable struct {
	Advice string // what to do, as a sentence without a full stop
	Err    error
}

func (e *Unusable) Error() string { return fmt.Sprintf("%v. %s", e.Err, e.Advice) }
func (e *Unusable) Unwrap() error { return e.Err }
