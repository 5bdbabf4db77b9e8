package host

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

// The audit log is a file in the data directory, one line of JSON for each command
// that changed something, by whatever door it came. It is only ever appended to; a
// command is written and on disk before it is carried out.

// Audited is one line of the audit log.
type Audited struct {
	At      time.Time       `json:"at"`
	From    string          `json:"from"` // who gave it: an address at the console, a user and a process at the control socket
	Command string          `json:"verb"`
	Args    json.RawMessage `json:"args,omitempty"`
	Error   string          `json:"error,omitempty"` // on a second line, if it failed
}

const (
	auditShown = 100       // lines that the console shows
	auditRead  = 256 << 10 // bytes that are read for them
)

func auditPath(dir string) string { return filepath.Join(dir, "audit.log") }

// note appends a line.
func (h *Host) note(entry Audited) error {
	entry.At = time.Now().UTC()
	line, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	h.auditing.Lock()
	defer h.auditing.Unlock()
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

// doNoted carries a command out that came from somebody. One that changes
// something is in the audit log first, and once more with its error if it fails.
func (h *Host) doNoted(ctx context.Context, c *Command, call Call, from string) (any, error) {
	if !c.Changes {
		return h.do(ctx, c, call)
	}
	entry := Audited{From: from, Command: c.Name, Args: c.withoutSecrets(call.Args)}
	if err := h.note(entry); err != nil {
		h.Log.Error("a command was refused: it cannot be noted", "err", err)
		return nil, err
	}
	result, err := h.do(ctx, c, call)
	if err != nil {
		entry.Error = err.Error()
		if err := h.note(entry); err != nil {
			h.Log.Error("the audit log", "err", err)
		}
	}
	return result, err
}

// withoutSecrets keeps the arguments of the command, and replaces what is secret in
// them.
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
			json.Unmarshal(value, &text) // what is no text stays empty
			fields[name], _ = json.Marshal(arg.Hide(text))
		}
	}
	clean, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return clean
}

// audited returns the last lines, newest first.
func (h *Host) audited() ([]Audited, error) {
	list := []Audited{}
	f, err := os.Open(auditPath(h.Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the audit log: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > auditRead {
		f.Seek(-auditRead, io.SeekEnd)
	}
	text, err := io.ReadAll(io.LimitReader(f, auditRead))
	if err != nil {
		return nil, fmt.Errorf("the audit log: %w", err)
	}
	for line := range bytes.Lines(text) {
		var entry Audited
		if json.Unmarshal(line, &entry) == nil { // the first may be cut
			list = append(list, entry)
		}
	}
	list = list[max(0, len(list)-auditShown):]
	slices.Reverse(list)
	return list, nil
}
