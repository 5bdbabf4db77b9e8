package wire

import (
	"encoding/binary"

	"wamble"
)

// Error refuses a request.
//
//	0  2  code, LITTLE-endian
//	2  1  n
//	3  n  reason; clients keep 89 bytes
//	      bytes after it are ignored
type Error struct {
	Code   wamble.Code `json:"code"`
	Reason Text        `json:"reason"`
}

var (
	errLongReason  = tooLong("a reason has at most 255 bytes")
	errNoReason    = truncated("no code and length of the reason")
	errShortReason = truncated("reason is longer than its payload")
)

func (m Error) append(dst []byte) ([]byte, error) {
	if len(m.Reason) > 255 {
		return dst, errLongReason
	}
	dst = binary.LittleEndian.AppendUint16(dst, uint16(m.Code))
	return append(append(dst, byte(len(m.Reason))), m.Reason...), nil
}

func (m *Error) decode(base []byte) ([]byte, error) {
	if len(base) < 3 {
		return nil, errNoReason
	}
	end := 3 + int(base[2])
	if end > len(base) {
		return nil, errShortReason
	}
	m.Code = wamble.Code(binary.LittleEndian.Uint16(base))
	m.Reason = base[3:end]
	return base[end:], nil
}

// LoginFailed refuses a login: always with code 1001 and no reason.
//
//	0  2  code, LITTLE-endian
//	2  1  n
//	3  n  reason
type LoginFailed struct {
	Code   wamble.Code `json:"code"`
	Reason Text        `json:"reason"`
}

func (m LoginFailed) append(dst []byte) ([]byte, error)   { return Error(m).append(dst) }
func (m *LoginFailed) decode(base []byte) ([]byte, error) { return (*Error)(m).decode(base) }

// NoticeType is the subject of a notification.
type NoticeType uint8

// The notices. A server of this project sends all but Generic.
const (
	NoticeGeneric             NoticeType = 0 // something; no server of this project sends it
	NoticePotPayout           NoticeType = 1 // your moves on a board that was won are paid
	NoticeSpectateEnded       NoticeType = 2 // watching has ended, or fell back to the summary
	NoticeMaintenance         NoticeType = 3 // an urgent announcement of the host
	NoticeAnnouncement        NoticeType = 4 // an announcement of the host
	NoticeReservationReleased NoticeType = 5 // your reservation has expired, the board was given back
	NoticeSessionExpired      NoticeType = 6 // your session has expired, or the host has ended it; then the text says so
)

// ServerNotification tells a client something it did not ask for; unreliably,
// with sequence 0.
//
//	0  1  type
//	1  n  text; clients keep 89 bytes
type ServerNotification struct {
	Type NoticeType `json:"type"`
	Text Text       `json:"text"`
}

func (m ServerNotification) append(dst []byte) ([]byte, error) {
	return append(append(dst, byte(m.Type)), m.Text...), nil
}

var errNoNotice = truncated("no type of the notification")

func (m *ServerNotification) decode(base []byte) ([]byte, error) {
	if len(base) == 0 {
		return nil, errNoNotice
	}
	m.Type, m.Text = NoticeType(base[0]), base[1:]
	return nil, nil
}
