package logstore

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"wamble/runner"
)

// tidy makes a checkpoint while commits continue.
func (b *backend) tidy() {
	defer b.helpers.Done()
	defer func() {
		if v := recover(); v != nil {
			b.fail(fmt.Errorf("a checkpoint panicked: %v", v))
		}
	}()
	err := b.save(false)
	b.mu.Lock()
	b.tidying = false
	b.mu.Unlock()
	if err != nil && b.ctx.Err() == nil {
		b.s.o.Report(fmt.Errorf("checkpoint of %s: %w", b.s, err))
	}
}

// save replaces the log so far by a checkpoint. Without again it does nothing if nothing was
// written since the last attempt. After a failure the next automatic attempt is made after as
// many bytes again.
func (b *backend) save(again bool) error {
	b.saving.Lock()
	defer b.saving.Unlock()
	b.mu.Lock()
	state, seq, n := b.rows.copy(), b.seq, b.since
	b.since = 0
	b.mu.Unlock()
	if n == 0 && !again {
		return nil
	}
	err := b.held.Checkpoint(b.ctx, seq, state.records(b.s.Now()))
	if errors.Is(err, ErrFenced) {
		b.fail(err)
	}
	return err
}

// flushTries is how often Flush tries a checkpoint: a reader of the log, or a cleanup of its
// tables, may block it for a moment.
const flushTries = 8

// Flush implements runner.Backend.
func (b *backend) Flush() error {
	err := b.usable()
	for try := 0; try < flushTries && b.usable() == nil; try++ {
		if err = b.save(try > 0); err == nil {
			return nil
		}
	}
	return err
}

// fileMagic begins the file of a checkpoint; records follow, each after its length as a
// uvarint, and a length of 0 ends the file.
const fileMagic = "runner log 1\n"

// Checkpoint implements runner.Backend: the name is that of a file.
func (b *backend) Checkpoint(name string) error {
	state := b.snapshot()
	if _, err := os.Lstat(name); err == nil {
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	part := name + ".part"
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	_, err = w.WriteString(fileMagic)
	for record := range state.records(b.s.Now()) {
		if err == nil {
			_, err = w.Write(binary.AppendUvarint(nil, uint64(len(record))))
		}
		if err == nil {
			_, err = w.Write(record)
		}
	}
	if err == nil {
		err = w.WriteByte(0)
	}
	if err = errors.Join(err, w.Flush(), f.Sync(), f.Close()); err == nil {
		err = os.Link(part, name) // fails if the name exists
	}
	return errors.Join(err, os.Remove(part))
}

// readFile adds the rows of a checkpoint file.
func (r *rows) readFile(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return runner.ErrNotFound
	}
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	magic := make([]byte, len(fileMagic))
	if _, err := io.ReadFull(in, magic); err != nil || string(magic) != fileMagic {
		return fmt.Errorf("not a checkpoint of a log: %w", runner.ErrDamaged)
	}
	var record []byte
	for {
		n, err := binary.ReadUvarint(in)
		switch {
		case err != nil:
			return fmt.Errorf("it is cut off: %w", runner.ErrDamaged)
		case n == 0:
			return nil
		case n > maxFileRecord:
			return fmt.Errorf("a record of %d bytes: %w", n, runner.ErrDamaged)
		}
		record = append(record[:0], make([]byte, n)...)
		if _, err := io.ReadFull(in, record); err != nil {
			return fmt.Errorf("it is cut off: %w", runner.ErrDamaged)
		}
		if _, err := r.apply(record); err != nil {
			return err
		}
	}
}

// maxFileRecord bounds a record of a file: about one row of the largest size.
const maxFileRecord = 64 << 20
