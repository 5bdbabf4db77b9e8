package store

import "fmt"

// Unusable is an error of a store that does not pass by itself: somebody must mend
// the database or the configuration. It is ErrTransient too: the same call succeeds
// when that is done.
type Unusable struct {
	Advice string // what to do, as a sentence without its end
	Err    error
}

func (e *Unusable) Error() string { return fmt.Sprintf("%v. %s", e.Err, e.Advice) }
func (e *Unusable) Unwrap() error { return e.Err }
