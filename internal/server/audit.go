package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// The audit log is a file in the data directory, one line of JSON for each thing
// that was done through the console. It is only ever appended to; a deed is
// written and on disk before it is done.

// deed is one line of the audit log.
type deed struct {
	At    time.Time       `json:"at"`
	From  string          `json:"from"`
	Verb  string          `json:"verb"`
	Args  json.RawMessage `json:"args,omitempty"`
	Error string          `json:"error,omitempty"` // on a second line, if it failed
}

// auditing orders the writers of the one file of a process.
var auditing sync.Mutex

const (
	auditShown = 100       // deeds that the console shows
	auditRead  = 256 << 10 // bytes that are read for them
)

func auditPath(dir string) string { return filepath.Join(dir, "audit.log") }

// note writes a deed down.
func (s *Server) note(d deed) error {
	d.At = time.Now().UTC()
	d.Args = withoutSecrets(d.Args)
	line, err := json.Marshal(d)
	if err != nil {
		return err
	}
	auditing.Lock()
	defer auditing.Unlock()
	f, err := os.OpenFile(auditPath(s.dir), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("the audit log: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("the audit log: %w", err)
	}
	return nil
}

// withoutSecrets replaces a player's token, which opens his session, and what may
// be one with a slip in it.
func withoutSecrets(args json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil {
		return nil
	}
	for name, value := range fields {
		if !strings.EqualFold(name, "whom") { // as an Order is read
			continue
		}
		var text string
		err := json.Unmarshal(value, &text)
		whom, wrong := parseWhom(text)
		switch {
		case err != nil || wrong != nil:
			fields[name] = json.RawMessage(`"(nobody)"`)
		case !whom.Token.IsZero():
			fields[name] = json.RawMessage(`"(a token)"`)
		}
	}
	clean, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return clean
}

// deeds returns the last deeds, newest first.
func (s *Server) deeds() ([]deed, error) {
	list := []deed{}
	f, err := os.Open(auditPath(s.dir))
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
		var d deed
		if json.Unmarshal(line, &d) == nil { // the first may be cut
			list = append(list, d)
		}
	}
	list = list[max(0, len(list)-auditShown):]
	slices.Reverse(list)
	return list, nil
}
