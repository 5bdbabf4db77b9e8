package uci

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
)

const (
	maxLine   = 64 << 10 // bytes of one line
	maxAnswer = 16 << 20 // bytes of all lines up to an answer
	maxTail   = 1 << 10  // bytes of standard error that are kept
)

// lines reads an engine's standard output by lines. If a deadline passes, the part of a line
// that has been read is kept.
type lines struct {
	from       *os.File
	buf        []byte
	start, end int
	budget     int // bytes that may still be read before an answer
}

// next returns the next line without its line end. It returns ErrFlood if the line is longer
// than maxLine or budget is used up.
func (l *lines) next() (string, error) {
	seen := l.start
	for {
		if i := bytes.IndexByte(l.buf[seen:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : seen+i]
			l.start = seen + i + 1
			return string(bytes.TrimRight(line, "\r")), nil
		}
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.start, seen = 0, l.end
		if l.end == len(l.buf) || l.budget <= 0 {
			return "", ErrFlood
		}
		n, err := l.from.Read(l.buf[l.end:])
		l.end += n
		l.budget -= n
		if n == 0 && err != nil {
			return "", err
		}
	}
}

// tail keeps the last maxTail bytes that an engine writes to standard error.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b[max(0, len(b)-maxTail):]...)
	t.buf = t.buf[max(0, len(t.buf)-maxTail):]
	return len(b), nil
}

// words returns the last line as the end of an error text, or "" if there is none.
func (t *tail) words() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.buf))
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	if text == "" {
		return ""
	}
	return fmt.Sprintf("; it said %q", text)
}
