package wire

import (
	"encoding/binary"
	"math"
)

// GetActiveReservations asks for the boards that the caller's identity holds,
// in all profiles.
//
//	0  n  ignored
type GetActiveReservations struct{ empty }

// Reservation is one row of ActiveReservationsData; everything is big-endian.
//
//	 0  8  board
//	 8  8  reserved at, Unix seconds
//	16  8  expires at, Unix seconds
//	24  1  the profile is served here
//	25  1  n
//	26  n  name of the profile
type Reservation struct {
	Board      Uint64 `json:"board_id"`
	ReservedAt Uint64 `json:"reserved_at"`
	ExpiresAt  Uint64 `json:"expires_at"`
	Available  bool   `json:"available"`
	Profile    Text   `json:"profile"`
}

const reservationSize = 26

// ActiveReservationsData answers GetActiveReservations: always in fragments.
//
//	0  2  number of rows, big-endian
//	2     Reservation …
//	      bytes after them are ignored
type ActiveReservationsData struct {
	Rows []Reservation `json:"rows"`
}

var errManyReservations = tooLong("there are at most 65535 reservations")

func (m ActiveReservationsData) append(dst []byte) ([]byte, error) {
	if len(m.Rows) > math.MaxUint16 {
		return dst, errManyReservations
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(m.Rows)))
	for i := range m.Rows {
		r := &m.Rows[i]
		if len(r.Profile) > 255 {
			return dst, errLongName
		}
		dst = binary.BigEndian.AppendUint64(dst, uint64(r.Board))
		dst = binary.BigEndian.AppendUint64(dst, uint64(r.ReservedAt))
		dst = binary.BigEndian.AppendUint64(dst, uint64(r.ExpiresAt))
		dst = append(dst, oneIf(r.Available), byte(len(r.Profile)))
		dst = append(dst, r.Profile...)
	}
	return dst, nil
}

func (m *ActiveReservationsData) decode(base []byte) ([]byte, error) {
	if len(base) < 2 {
		return nil, errNoRows
	}
	n := int(binary.BigEndian.Uint16(base))
	base, m.Rows = base[2:], emptied(m.Rows)
	for range n {
		if len(base) < reservationSize {
			return nil, errShortRows
		}
		end := reservationSize + int(base[25])
		if len(base) < end {
			return nil, errShortRows
		}
		m.Rows = append(m.Rows, Reservation{
			Board:      Uint64(binary.BigEndian.Uint64(base)),
			ReservedAt: Uint64(binary.BigEndian.Uint64(base[8:])),
			ExpiresAt:  Uint64(binary.BigEndian.Uint64(base[16:])),
			Available:  base[24] != 0,
			Profile:    base[reservationSize:end],
		})
		base = base[end:]
	}
	return base, nil
}
