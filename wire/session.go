package wire

import "encoding/binary"

// GetSessions asks for the sessions of the caller's identity.
//
//	0  n  ignored
type GetSessions struct{ empty }

// RevokeSessions ends one session of the caller's identity for good, or all but
// the caller's own.
//
//	0  8  number of the session, big-endian; 0: all others
//	8     bytes after it are ignored
type RevokeSessions struct {
	Session Uint64 `json:"session_id"`
}

func (m RevokeSessions) append(dst []byte) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, uint64(m.Session)), nil
}

func (m *RevokeSessions) decode(base []byte) ([]byte, error) {
	if len(base) < 8 {
		return nil, errShortRows
	}
	m.Session = Uint64(binary.BigEndian.Uint64(base))
	return base[8:], nil
}

// SetName chooses the name of the caller's identity, which others see as its handle. The
// answer is PLAYER_STATS_DATA about the caller, with the name as stats.target_handle.
//
//	0  n  name: 3 to 20 letters, digits, - or _
type SetName struct {
	Name Text `json:"name"`
}

func (m SetName) append(dst []byte) ([]byte, error)   { return appendText(dst, m.Name) }
func (m *SetName) decode(base []byte) ([]byte, error) { return decodeText(&m.Name, base) }

// Session is one row of SessionsData; everything is big-endian. The number is no
// secret. Where somebody played from is not kept, and so not told.
//
//	 0  8  number
//	 8  8  created at, Unix seconds
//	16  8  last seen at, Unix seconds
//	24  1  it is the caller's own
type Session struct {
	ID       Uint64 `json:"session_id"`
	Created  Uint64 `json:"created_at"`
	LastSeen Uint64 `json:"last_seen_at"`
	Own      bool   `json:"own"`
}

const sessionSize = 25

// MaxSessions is the largest number of rows in SessionsData: those that were seen last.
const MaxSessions = 64

// SessionsData answers GetSessions and RevokeSessions, the caller's own first, then the
// last seen.
//
//	0  1  number of rows, at most 64
//	1     Session …
//	      bytes after them are ignored
type SessionsData struct {
	Rows []Session `json:"rows"`
}

var errManySessions = tooLong("there are at most 64 sessions in an answer")

func (m SessionsData) append(dst []byte) ([]byte, error) {
	if len(m.Rows) > MaxSessions {
		return dst, errManySessions
	}
	dst = append(dst, byte(len(m.Rows)))
	for i := range m.Rows {
		r := &m.Rows[i]
		dst = binary.BigEndian.AppendUint64(dst, uint64(r.ID))
		dst = binary.BigEndian.AppendUint64(dst, uint64(r.Created))
		dst = binary.BigEndian.AppendUint64(dst, uint64(r.LastSeen))
		dst = append(dst, oneIf(r.Own))
	}
	return dst, nil
}

func (m *SessionsData) decode(base []byte) ([]byte, error) {
	if len(base) < 1 {
		return nil, errNoRows
	}
	n := int(base[0])
	base, m.Rows = base[1:], emptied(m.Rows)
	if n > MaxSessions || len(base) < n*sessionSize {
		return nil, errShortRows
	}
	for range n {
		m.Rows = append(m.Rows, Session{
			ID:       Uint64(binary.BigEndian.Uint64(base)),
			Created:  Uint64(binary.BigEndian.Uint64(base[8:])),
			LastSeen: Uint64(binary.BigEndian.Uint64(base[16:])),
			Own:      base[24] != 0,
		})
		base = base[sessionSize:]
	}
	return base, nil
}
