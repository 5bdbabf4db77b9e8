package runner

import (
	"errors"
	"fmt"
)

// OpenReadOnly opens the runner in s without changing anything, for tools that examine a
// stopped runner: no epoch begins, leases stay unchanged, and every change returns ErrReadOnly.
// Options.Create and Options.Migrate have no effect; a storage without a runner is ErrNoSchema.
func OpenReadOnly(s Storage, o Options) (*Runner, error) {
	o.Create, o.Migrate = false, nil
	r := newRunner(s, o)
	r.readOnly = true
	e, err := newEngine(&r.o, s.OpenReadOnly)
	if err != nil {
		return nil, err
	}
	if err := e.inspect(); err != nil {
		return nil, errors.Join(err, e.back.Close())
	}
	r.eng.Store(e)
	return r, nil
}

// inspect reads what start reads, and closes the committer without starting it.
func (e *engine) inspect() error {
	schema, _, err := e.guardSchema()
	if err != nil {
		return err
	}
	e.schema = schema
	if err := e.loadIndex(); err != nil {
		return fmt.Errorf("read the index: %w", err)
	}
	for _, row := range []struct {
		key    string
		decode func([]byte) error
	}{
		{bootKey, func(b []byte) (err error) { e.boot, err = decodeBoot(b); return err }},
		{journalKey, func(b []byte) (err error) { e.journal, err = decodeJournal(b); return err }},
	} {
		b, ok, err := e.own(row.key)
		if err == nil && ok {
			err = row.decode(b)
		}
		if err != nil {
			return err
		}
	}
	if err := e.loadLeases(); err != nil {
		return fmt.Errorf("read the leases: %w", err)
	}
	e.k = newCommitter(e)
	e.k.close(ErrReadOnly)
	close(e.k.stopped)
	return nil
}
