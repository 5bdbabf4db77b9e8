package wire

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
)

// Float is a float64 that JSON preserves bit by bit: a number, or {"hex": …} with its 8 bytes
// (big-endian) if it is not finite.
type Float float64

// MarshalJSON writes a number, or {"hex": …} if f is NaN or infinite.
func (f Float) MarshalJSON() ([]byte, error) {
	v := float64(f)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return json.Marshal(hexForm{binary.BigEndian.AppendUint64(nil, math.Float64bits(v))})
	}
	return strconv.AppendFloat(nil, v, 'g', -1, 64), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Float) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var h hexForm
		if err := strict(b, &h); err != nil {
			return err
		}
		if len(h.Hex) != 8 {
			return errHexLength
		}
		*f = Float(math.Float64frombits(binary.BigEndian.Uint64(h.Hex)))
		return nil
	}
	return json.Unmarshal(b, (*float64)(f))
}

// GetPlayerStats asks for the stats of a player; fields stats.* name them, and
// without them it is oneself.
//
//	0  n  ignored
type GetPlayerStats struct{ empty }

// PlayerStatsData answers GetPlayerStats.
//
//	 0  8  score, float64, LITTLE-endian
//	 8  4  games, big-endian
//	12  4  Chess960 games, big-endian; absent (then 0) in old packets
//	       bytes after it are ignored
type PlayerStatsData struct {
	Score    Float  `json:"score"`
	Games    uint32 `json:"games"`
	Games960 uint32 `json:"games_960"`
}

func (m PlayerStatsData) append(dst []byte) ([]byte, error) {
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(float64(m.Score)))
	dst = binary.BigEndian.AppendUint32(dst, m.Games)
	return binary.BigEndian.AppendUint32(dst, m.Games960), nil
}

var errShortStats = truncated("stats have at least 12 bytes")

func (m *PlayerStatsData) decode(base []byte) ([]byte, error) {
	if len(base) < 12 {
		return nil, errShortStats
	}
	m.Score = Float(math.Float64frombits(binary.LittleEndian.Uint64(base)))
	m.Games = binary.BigEndian.Uint32(base[8:])
	m.Games960 = 0
	if len(base) < 16 {
		return base[12:], nil
	}
	m.Games960 = binary.BigEndian.Uint32(base[12:])
	return base[16:], nil
}
