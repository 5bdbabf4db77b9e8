package main

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"wamble/internal/journal"
	"wamble/runner"
)

// payloadDecoders has functions that decode payloads. The first that recognizes a message is
// used; other payloads are shown as text or hex.
var payloadDecoders = []func(m *runner.Message) (any, bool){decodeIntents}

// decodeIntents decodes the intents in a message of a profile's journal.
func decodeIntents(m *runner.Message) (any, bool) {
	views, err := journal.Show(m)
	return views, err == nil
}

// decodePayload returns the payload of m as a value for JSON.
func decodePayload(m *runner.Message) (any, bool) {
	for _, decode := range payloadDecoders {
		if v, ok := decode(m); ok {
			return v, true
		}
	}
	return nil, false
}

// bytesView is a byte string for JSON: text if it is printable, else hex.
type bytesView struct {
	Text *string `json:"text,omitempty"`
	Hex  *string `json:"hex,omitempty"`
}

func viewBytes(b []byte) bytesView {
	if printable(b) {
		s := string(b)
		return bytesView{Text: &s}
	}
	s := hex.EncodeToString(b)
	return bytesView{Hex: &s}
}

func printable(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, r := range string(b) {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
			return false
		}
	}
	return true
}

// messageView is an LMSG frame for JSON. Optional parts of a message are
// absent, not zero.
type messageView struct {
	Frame   string     `json:"frame"`
	Kind    string     `json:"kind"`
	Flags   []string   `json:"flags"`
	To      int64      `json:"to"`
	Route   routeView  `json:"route"`
	From    *int64     `json:"from,omitempty"`
	ID      bytesView  `json:"id"`
	Trace   *bytesView `json:"trace,omitempty"`
	Payload bytesView  `json:"payload"`
	Decoded any        `json:"decoded,omitempty"`
}

type routeView struct {
	Worker int64 `json:"worker"`
	Time   int64 `json:"time"`
}

// intentView is a LINT frame for JSON. Message is the decoded LMSG frame in it, or bytes.
type intentView struct {
	Frame   string `json:"frame"`
	Kind    string `json:"kind"`
	Due     *int64 `json:"due,omitempty"`
	Message any    `json:"message"`
}

var kindNames = map[runner.Kind]string{runner.Command: "command", runner.Event: "event", runner.Timer: "timer"}

var intentNames = map[runner.IntentKind]string{runner.OutboxEmit: "outbox-emit", runner.TimerArm: "timer-arm"}

// flagNames has the names of flags, in the order of their bits.
var flagNames = []struct {
	bit  runner.Flags
	name string
}{
	{runner.Durable, "durable"},
	{runner.HighPriority, "high-priority"},
	{runner.Dedupe, "dedupe"},
	{runner.RequiresAck, "requires-ack"},
	{runner.HasFrom, "from"},
	{runner.HasTrace, "trace"},
}

func viewMessage(m *runner.Message) messageView {
	v := messageView{
		Frame: "LMSG", Kind: kindNames[m.Kind], Flags: []string{}, To: int64(m.To),
		Route: routeView{int64(m.RouteWorker), millis(m.RouteTime)}, ID: viewBytes(m.ID), Payload: viewBytes(m.Payload),
	}
	for _, f := range flagNames {
		if m.Flags&f.bit != 0 {
			v.Flags = append(v.Flags, f.name)
		}
	}
	if m.Flags&runner.HasFrom != 0 {
		from := int64(m.From)
		v.From = &from
	}
	if m.Flags&runner.HasTrace != 0 {
		trace := viewBytes(m.Trace)
		v.Trace = &trace
	}
	v.Decoded, _ = decodePayload(m)
	return v
}

// viewFrame decodes an LMSG or a LINT frame for JSON.
func viewFrame(frame []byte) (any, error) {
	if !strings.HasPrefix(string(frame), "LINT") {
		m, err := runner.DecodeMessage(frame)
		if err != nil {
			return nil, err
		}
		return viewMessage(&m), nil
	}
	i, err := runner.DecodeIntent(frame)
	if err != nil {
		return nil, err
	}
	v := intentView{Frame: "LINT", Kind: intentNames[i.Kind], Message: viewBytes(i.Message)}
	if i.HasDue {
		due := i.Due.UnixMilli()
		v.Due = &due
	}
	if m, err := runner.DecodeMessage(i.Message); err == nil {
		v.Message = viewMessage(&m)
	}
	return v, nil
}

// storedFrame is a stored frame for JSON: decoded, or bytes with an error.
type storedFrame struct {
	Message any        `json:"message,omitempty"`
	Error   string     `json:"error,omitempty"`
	Bytes   *bytesView `json:"bytes,omitempty"`
}

func viewStored(frame []byte) storedFrame {
	v, err := viewFrame(frame)
	if err != nil {
		b := viewBytes(frame)
		return storedFrame{Error: err.Error(), Bytes: &b}
	}
	return storedFrame{Message: v}
}

// maxCell is how many characters of an id or a payload a table shows.
const maxCell = 48

// frameCells returns the columns KIND, ID and PAYLOAD of a table.
func frameCells(frame []byte) string {
	m, err := runner.DecodeMessage(frame)
	if err != nil {
		return fmt.Sprintf("?\t?\t%s (%s)", cell(frame), err)
	}
	if v, ok := decodePayload(&m); ok {
		return fmt.Sprintf("%s\t%s\t%s", kindNames[m.Kind], cell(m.ID), cell(fmt.Append(nil, v)))
	}
	return fmt.Sprintf("%s\t%s\t%s", kindNames[m.Kind], cell(m.ID), cell(m.Payload))
}

// cell returns bytes for a table cell: escaped text if they are printable, else hex, cut to
// maxCell characters.
func cell(b []byte) string {
	s := "hex:" + hex.EncodeToString(b[:min(len(b), maxCell)])
	if printable(b) {
		s = strconv.Quote(string(b))
		s = s[1 : len(s)-1]
	}
	if r := []rune(s); len(r) > maxCell {
		return string(r[:maxCell-1]) + "…"
	}
	if s == "" {
		return "-"
	}
	return s
}

// millis returns t in ms since 1970; 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// showTime formats ms since 1970. Times beyond the year 9999 stay numbers.
func showTime(ms int64) string {
	const year9999 = 253402300799999
	if ms < -year9999 || ms > year9999 {
		return strconv.FormatInt(ms, 10)
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}
