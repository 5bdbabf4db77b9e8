package runner

import (
	"encoding/binary"
	"fmt"
)

// Cause says why a message became a dead letter.
type Cause uint8

// The closed list of causes.
const (
	CauseUnknown   Cause = 0 // a record of the original, which kept a number only
	CauseBudget    Cause = 1 // it failed as often as its budget allows
	CauseCrash     Cause = 2 // the process died under it as often as that
	CausePanic     Cause = 3 // as CauseBudget, and the last failure was a panic
	CauseMalformed Cause = 4 // its frame does not decode
	CauseMisrouted Cause = 5 // its frame names another worker
	CauseDiscarded Cause = 6 // the handler said Discard
	CauseReframed  Cause = 7 // a batch handler put it there itself
)

// causes names every cause.
var causes = [...]string{"unknown", "budget", "crash", "panic", "malformed", "misrouted", "discarded", "reframed"}

func (c Cause) String() string {
	if int(c) < len(causes) {
		return causes[c]
	}
	return fmt.Sprintf("cause %d", uint8(c))
}

// DeadLetter is a message that left its inbox without success.
type DeadLetter struct {
	// Row is the dead letter's own name: its worker and a number of its own.
	Row   Row
	Cause Cause
	// Code is the number that records of the original carry, else 0.
	Code     int32
	Attempts uint32
	// Time is when it died, in milliseconds since 1970; 0 in old records.
	Time int64
	// Source is the inbox row it was. Timer is set when a timer had fired it.
	Source    Row
	Timer     TimerID
	FromTimer bool
	// Reason is the text of the last error, at most 1,024 bytes.
	Reason string
	// Frame is the message, byte for byte as it was posted.
	Frame []byte

	garbage bool // the record itself does not decode
}

// A record of the original:  DLQ0, code i32, attempts u32, length u32, frame.
// Ours, which also says when, why and whence:
//
//	 0 DLQ1        4 cause u8     5 from-timer u8   6 reason length u16
//	 8 attempts u32  12 frame length u32  16 time i64  24 source worker u64
//	32 source seq u64  40 timer due i64  48 timer seq u64  56 frame, reason
const (
	oldDeadMagic  = "DLQ0"
	oldDeadHeader = 16
	deadMagic     = "DLQ1"
	deadHeader    = 56
	maxReason     = 1024
)

func (d *DeadLetter) append(dst []byte) []byte {
	reason := d.Reason[:min(len(d.Reason), maxReason)]
	var timer byte
	if d.FromTimer {
		timer = 1
	}
	le := binary.LittleEndian
	dst = append(dst, deadMagic...)
	dst = append(dst, byte(d.Cause), timer)
	dst = le.AppendUint16(dst, uint16(len(reason)))
	dst = le.AppendUint32(dst, d.Attempts)
	dst = le.AppendUint32(dst, uint32(len(d.Frame)))
	for _, v := range [5]uint64{uint64(d.Time), d.Source.Worker, d.Source.Seq, uint64(d.Timer.Due), d.Timer.Seq} {
		dst = le.AppendUint64(dst, v)
	}
	dst = append(dst, d.Frame...)
	return append(dst, reason...)
}

// decodeDead reads both records. Frame is a view into b.
func decodeDead(b []byte) (DeadLetter, error) {
	if len(b) >= oldDeadHeader && string(b[:4]) == oldDeadMagic {
		return decodeOldDead(b)
	}
	if len(b) < deadHeader || string(b[:4]) != deadMagic {
		return DeadLetter{}, fmt.Errorf("dead letter of %d bytes: %w", len(b), ErrFormat)
	}
	le := binary.LittleEndian
	reason, frame := uint64(le.Uint16(b[6:])), uint64(le.Uint32(b[12:]))
	switch {
	case int(b[4]) >= len(causes) || b[5] > 1:
		return DeadLetter{}, fmt.Errorf("dead letter with cause %d: %w", b[4], ErrFormat)
	case frame == 0 || reason > maxReason || deadHeader+frame+reason != uint64(len(b)):
		return DeadLetter{}, fmt.Errorf("dead letter lengths do not add up: %w", ErrFormat)
	}
	return DeadLetter{
		Cause:     Cause(b[4]),
		FromTimer: b[5] == 1,
		Attempts:  le.Uint32(b[8:]),
		Time:      int64(le.Uint64(b[16:])),
		Source:    Row{le.Uint64(b[24:]), le.Uint64(b[32:])},
		Timer:     TimerID{int64(le.Uint64(b[40:])), le.Uint64(b[48:])},
		Frame:     b[deadHeader : deadHeader+frame : deadHeader+frame],
		Reason:    string(b[deadHeader+frame:]),
	}, nil
}

func decodeOldDead(b []byte) (DeadLetter, error) {
	n := uint64(binary.LittleEndian.Uint32(b[12:]))
	if n == 0 || oldDeadHeader+n != uint64(len(b)) {
		return DeadLetter{}, fmt.Errorf("dead letter of %d bytes: %w", len(b), ErrFormat)
	}
	return DeadLetter{
		Code:     int32(binary.LittleEndian.Uint32(b[4:])),
		Attempts: binary.LittleEndian.Uint32(b[8:]),
		Frame:    b[oldDeadHeader:],
	}, nil
}
