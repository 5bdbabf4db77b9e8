package wire

import (
	"encoding/binary"
	"math"
)

// MaxRows is the largest number of rows in LEADERBOARD_DATA and PREDICTION_DATA.
const MaxRows = 16

// The orders of the leaderboard. Any other value counts as ByScore.
const (
	ByScore  uint8 = 1
	ByRating uint8 = 2
)

// DefaultRows is the number of rows if a request has none, or 0.
const DefaultRows = 10

// GetLeaderboard asks for a page of the leaderboard; field
// leaderboard.page_index says which.
//
//	0  1  order: 2 = rating, everything else = score
//	1  1  limit; 0 = 10
//
// An empty payload means order 1 and limit 10; a single byte is the limit, with
// order 1. More than 2 bytes are refused.
type GetLeaderboard struct {
	Order uint8 `json:"type"`
	Limit uint8 `json:"limit"`
}

func (m GetLeaderboard) append(dst []byte) ([]byte, error) { return append(dst, m.Order, m.Limit), nil }

var errLeaderboardLen = invalid("a leaderboard request has at most 2 bytes")

func (m *GetLeaderboard) decode(base []byte) ([]byte, error) {
	switch len(base) {
	case 0:
		*m = GetLeaderboard{ByScore, DefaultRows}
	case 1:
		*m = GetLeaderboard{ByScore, base[0]}
	case 2:
		*m = GetLeaderboard{base[0], base[1]}
	default:
		return nil, errLeaderboardLen
	}
	return nil, nil
}

// LeaderboardRow is one row of LeaderboardData; everything is big-endian.
//
//	 0   4  rank
//	 4   8  session id
//	12   8  score, float64
//	20   8  rating, float64
//	28   4  games
//	32   1  has an identity
//	33  32  public key
//	65   2  n
//	67   n  handle
type LeaderboardRow struct {
	Rank        uint32 `json:"rank"`
	Session     Uint64 `json:"session_id"`
	Score       Float  `json:"score"`
	Rating      Float  `json:"rating"`
	Games       uint32 `json:"games"`
	HasIdentity bool   `json:"has_identity"`
	PublicKey   Key    `json:"public_key"`
	Handle      Text   `json:"handle"`
}

const leaderboardRowSize = 67

// LeaderboardData answers GetLeaderboard.
//
//	0  1  order
//	1  1  number of rows, at most 16
//	2  4  rank of the asker, big-endian; 0 = unknown
//	6     LeaderboardRow …
//	      bytes after them are ignored
type LeaderboardData struct {
	Order    uint8            `json:"type"`
	SelfRank uint32           `json:"self_rank"`
	Rows     []LeaderboardRow `json:"rows"`
}

var (
	errManyRows   = tooLong("there are at most 16 rows")
	errRowCount   = invalid("there are at most 16 rows")
	errNoRows     = truncated("no number of rows")
	errShortRows  = truncated("fewer rows than their number says")
	errLongHandle = tooLong("a handle has at most 65535 bytes")
)

func (m LeaderboardData) append(dst []byte) ([]byte, error) {
	if len(m.Rows) > MaxRows {
		return dst, errManyRows
	}
	dst = append(dst, m.Order, byte(len(m.Rows)))
	dst = binary.BigEndian.AppendUint32(dst, m.SelfRank)
	for i := range m.Rows {
		r := &m.Rows[i]
		if len(r.Handle) > math.MaxUint16 {
			return dst, errLongHandle
		}
		dst = binary.BigEndian.AppendUint32(dst, r.Rank)
		dst = binary.BigEndian.AppendUint64(dst, uint64(r.Session))
		dst = appendFloat(dst, r.Score)
		dst = appendFloat(dst, r.Rating)
		dst = binary.BigEndian.AppendUint32(dst, r.Games)
		dst = append(dst, oneIf(r.HasIdentity))
		dst = append(dst, r.PublicKey[:]...)
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(r.Handle)))
		dst = append(dst, r.Handle...)
	}
	return dst, nil
}

func (m *LeaderboardData) decode(base []byte) ([]byte, error) {
	if len(base) < 6 {
		return nil, errNoRows
	}
	n := int(base[1])
	if n > MaxRows {
		return nil, errRowCount
	}
	m.Order, m.SelfRank, m.Rows = base[0], binary.BigEndian.Uint32(base[2:]), emptied(m.Rows)
	base = base[6:]
	for range n {
		if len(base) < leaderboardRowSize {
			return nil, errShortRows
		}
		end := leaderboardRowSize + int(binary.BigEndian.Uint16(base[65:]))
		if len(base) < end {
			return nil, errShortRows
		}
		m.Rows = append(m.Rows, LeaderboardRow{
			Rank:        binary.BigEndian.Uint32(base),
			Session:     Uint64(binary.BigEndian.Uint64(base[4:])),
			Score:       float(base[12:]),
			Rating:      float(base[20:]),
			Games:       binary.BigEndian.Uint32(base[28:]),
			HasIdentity: base[32] != 0,
			PublicKey:   Key(base[33:65]),
			Handle:      base[leaderboardRowSize:end],
		})
		base = base[end:]
	}
	return base, nil
}

func oneIf(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func float(b []byte) Float { return Float(math.Float64frombits(binary.BigEndian.Uint64(b))) }

func appendFloat(dst []byte, f Float) []byte {
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(float64(f)))
}
