package runner

// Restore replaces the content of s, which may be empty and must not be open,
// by a checkpoint with a new journal id. It returns ErrLocked while s is in
// use, and the errors of Open when the checkpoint is not a runner's or has
// another schema; the old content is still there then.
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

// disown takes the journal id out of the copy of a checkpoint, so that whoever
// opens the copy first gives it a new one, even if a crash comes before.
func (o *Options) disown(b Backend) error {
	e := &engine{o: o, back: b}
	if _, _, err := e.guardSchema(); err != nil {
		return err
	}
	batch := b.Batch()
	batch.Delete(tableKey(nil, appState, []byte(journalKey)))
	return batch.Commit()
}
