package runner

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// IntentKind says what happens with an intent's message.
type IntentKind uint8

// The kinds of intents.
const (
	// OutboxEmit appends the message to the outbox.
	OutboxEmit IntentKind = 0
	// TimerArm arms a timer that delivers the message when it is due.
	TimerArm IntentKind = 1
)

const (
	intentMagic  = "LINT"
	intentHeader = 28
	hasDue       = 0x01
)

// Intent is a decoded LINT frame, by which the original requests an outbox row or a timer;
// `wamble runner frame` shows it. In this package Tx does both.
type Intent struct {
	Kind IntentKind
	// HasDue is set if and only if Kind is TimerArm.
	HasDue bool
	// Due is zero unless HasDue is set.
	Due time.Time
	// Message has at least one byte and should be an LMSG frame.
	Message []byte
}

func (i *Intent) ruleBroken() string {
	switch {
	case i.Kind == OutboxEmit && i.HasDue:
		return "an outbox intent has no due time"
	case i.Kind == TimerArm && !i.HasDue:
		return "a timer intent needs its due flag"
	case !i.HasDue && !i.Due.IsZero():
		return "due time without its flag"
	}
	return ""
}

// DecodeIntent decodes a LINT frame, which must be the whole of frame. Message is a view into
// it.
func DecodeIntent(frame []byte) (Intent, error) {
	body, err := checkHeader(frame, intentMagic, intentHeader, uint8(TimerArm), hasDue)
	if err != nil {
		return Intent{}, err
	}
	n := uint64(binary.LittleEndian.Uint32(frame[24:]))
	if n == 0 {
		return Intent{}, fmt.Errorf("intent without a message: %w", ErrFormat)
	}
	if n != uint64(len(body)) {
		return Intent{}, fmt.Errorf("message length %d, have %d: %w", n, len(body), ErrFormat)
	}
	i := Intent{
		Kind:    IntentKind(frame[12]),
		HasDue:  frame[13]&hasDue != 0,
		Due:     timeOf(int64(binary.LittleEndian.Uint64(frame[16:]))),
		Message: body,
	}
	if i.HasDue {
		i.Due = time.UnixMilli(int64(binary.LittleEndian.Uint64(frame[16:])))
	}
	if rule := i.ruleBroken(); rule != "" {
		return Intent{}, fmt.Errorf("%s: %w", rule, ErrFormat)
	}
	return i, nil
}

// size returns the length of the frame, or ErrInvalid if no frame can hold i.
func (i *Intent) size() (int, error) {
	switch rule := i.ruleBroken(); {
	case i.Kind > TimerArm:
		return 0, fmt.Errorf("intent kind %d: %w", i.Kind, ErrInvalid)
	case rule != "":
		return 0, fmt.Errorf("%s: %w", rule, ErrInvalid)
	case len(i.Message) == 0:
		return 0, fmt.Errorf("intent without a message: %w", ErrInvalid)
	case uint64(len(i.Message)) > math.MaxUint32-intentHeader:
		return 0, fmt.Errorf("intent of %d bytes: %w", len(i.Message), ErrInvalid)
	}
	return intentHeader + len(i.Message), nil
}

// Append appends the frame to dst, or returns dst unchanged with ErrInvalid.
func (i *Intent) Append(dst []byte) ([]byte, error) {
	n, err := i.size()
	if err != nil {
		return dst, err
	}
	var flags byte
	var due int64
	if i.HasDue {
		flags, due = hasDue, i.Due.UnixMilli()
	}
	dst = append(dst, intentMagic...)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	dst = append(dst, byte(i.Kind), flags, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(due))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(i.Message)))
	return append(dst, i.Message...), nil
}
