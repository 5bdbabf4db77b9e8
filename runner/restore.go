package runner

// Restore replaces the content of s, which must not be open and may be empty, by a checkpoint
// with a new journal id. It returns ErrLocked while s is in use, and the errors of Open if the
// checkpoint is not a runner's or has another schema; then the old content is unchanged.
func Restore(s Storage, checkpoint string, o Options) error {
	o.Create = false
	o = o.withDefaults()
	if err := s.Restore(checkpoint, o.disown); err != nil {
		return err
	}
	e, err := openEngine(&o, s)
	if err != nil {
		return err
	}
	return e.close(ErrStopped)
}

// disown removes the journal id from the copy of a checkpoint, so that the first open of the
// copy creates a new one, even after a crash.
func (o *Options) disown(b Backend) error {
	e := &engine{o: o, back: b}
	if _, _, err := e.guardSchema(); err != nil {
		return err
	}
	batch := b.Batch()
	batch.Delete(tableKey(nil, appState, []byte(journalKey)))
	return batch.Commit()
}
