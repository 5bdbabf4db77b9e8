package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The audit log is a file in the data directory with one line of JSON for each command or
// signal that changes something, and for each that looks for a player's token. Lines are appended and synced before the command is carried
// out. A file that reaches auditSize is renamed to audit.log.1, that one to audit.log.2, and
// so on.

// Audited is one line of the audit log.
type Audited struct {
	At      time.Time       `json:"at"`
	From    string          `json:"from"` // actor and address at the console; user and process at the control socket
	Command string          `json:"verb"`
	Args    json.RawMessage `json:"args,omitempty"`
	Error   string          `json:"error,omitempty"` // a command that fails gets a second line with it
}

const (
	auditShown = 100       // lines that the console shows
	auditRead  = 256 << 10 // bytes that are read of each file for that
	auditSize  = 4 << 20   // bytes of a file
	auditFiles = 8         // renamed files that are kept
)

func auditPath(dir string) string { return filepath.Join(dir, "audit.log") }

// appendAudit appends a line and syncs the file.
func (h *Host) appendAudit(entry Audited) error {
	entry.At = time.Now().UTC()
	line, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	h.auditing.Lock()
	defer h.auditing.Unlock()
	if err := rotate(auditPath(h.Dir)); err != nil {
		return fmt.Errorf("the audit log: %w", err)
	}
	f, err := os.OpenFile(auditPath(h.Dir), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("the audit log: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("the audit log: %w", err)
	}
	return nil
}

// rotate renames the files if the current one has reached auditSize.
func rotate(path string) error {
	if info, err := os.Stat(path); err != nil || info.Size() < auditSize {
		return nil // an error is reported when the file is opened
	}
	for n := auditFiles - 1; n > 0; n-- {
		err := os.Rename(fmt.Sprintf("%s.%d", path, n), fmt.Sprintf("%s.%d", path, n+1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(path, path+".1")
}

// RunAudited records an action that is no command, as a signal, in the audit log and calls do. An
// error of the audit log is logged, and do is called nevertheless.
func (h *Host) RunAudited(from, what string, do func() error) error {
	entry := Audited{From: from, Command: what}
	if err := h.appendAudit(entry); err != nil {
		h.Log.Error("an act could not be noted", "act", what, "from", from, "err", err)
	}
	err := do()
	if err != nil {
		entry.Error = err.Error()
		if err := h.appendAudit(entry); err != nil {
			h.Log.Error("the audit log", "err", err)
		}
	}
	return err
}

// doAudited carries out a command. One that changes something, or looks for a player's token,
// is recorded in the audit log first, and again with its error if it fails. Without the record
// it is refused.
func (h *Host) doAudited(ctx context.Context, c *Command, call Call, from string) (any, error) {
	if !c.Changes && !c.hasToken(call.Args) {
		return h.do(ctx, c, call)
	}
	ctx = context.WithValue(ctx, fromKey{}, from)
	call.Args = h.keyed(ctx, c, call.Args)
	entry := Audited{From: from, Command: c.Name, Args: c.withoutSecrets(call.Args)}
	if err := h.appendAudit(entry); err != nil {
		h.Log.Error("a command was refused: it cannot be noted", "err", err)
		return nil, err
	}
	result, err := h.do(ctx, c, call)
	if err != nil {
		entry.Error = err.Error()
		if err := h.appendAudit(entry); err != nil {
			h.Log.Error("the audit log", "err", err)
		}
	}
	return result, err
}

type fromKey struct{}

// fromOf returns who gave a command that changes something, as in Audited.From.
func fromOf(ctx context.Context) string {
	from, _ := ctx.Value(fromKey{}).(string)
	return from
}

// withoutSecrets removes unknown arguments and replaces secret ones.
func (c *Command) withoutSecrets(args json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil {
		return nil
	}
	for name, value := range fields {
		arg := c.arg(name)
		if arg == nil {
			delete(fields, name)
			continue
		}
		if arg.Hide != nil {
			var text string
			json.Unmarshal(value, &text) // another type leaves it empty
			fields[name], _ = json.Marshal(arg.Hide(text))
		}
	}
	clean, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return clean
}

// auditTail returns the last auditShown lines, newest first.
func (h *Host) auditTail() ([]Audited, error) {
	h.auditing.Lock()
	newest, err := readAudit(auditPath(h.Dir))
	var older []Audited
	if err == nil && len(newest) < auditShown {
		older, err = readAudit(auditPath(h.Dir) + ".1")
	}
	h.auditing.Unlock()
	if err != nil {
		return nil, fmt.Errorf("the audit log: %w", err)
	}
	list := append(append([]Audited{}, older...), newest...)
	list = list[max(0, len(list)-auditShown):]
	slices.Reverse(list)
	return list, nil
}

// readAudit returns the last lines of a file, oldest first.
func readAudit(path string) (list []Audited, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > auditRead {
		f.Seek(-auditRead, io.SeekEnd)
	}
	text, err := io.ReadAll(io.LimitReader(f, auditRead))
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var entry Audited
		if json.Unmarshal(line, &entry) == nil { // the first may be cut
			list = append(list, entry)
		}
	}
	return list, nil
}
