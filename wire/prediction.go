package wire

import "encoding/binary"

// SubmitPrediction predicts a move of the header's board.
//
//	0    1  n, at most 6
//	1    n  UCI
//	1+n  8  parent prediction, big-endian; 0 = none
//
// Any other length is refused.
type SubmitPrediction struct {
	UCI    UCI    `json:"uci"`
	Parent Uint64 `json:"parent"`
}

func (m SubmitPrediction) append(dst []byte) ([]byte, error) {
	dst = m.UCI.Append(append(dst, byte(m.UCI.Len())))
	return binary.BigEndian.AppendUint64(dst, uint64(m.Parent)), nil
}

var errPredictionLen = invalid("a prediction has exactly 1 + move + 8 bytes")

func (m *SubmitPrediction) decode(base []byte) ([]byte, error) {
	if len(base) == 0 {
		return nil, errNoMove
	}
	n := int(base[0])
	if n > maxUCI {
		return nil, errLongUCI
	}
	if len(base) != 1+n+8 {
		return nil, errPredictionLen
	}
	m.UCI, _ = MakeUCI(base[1 : 1+n])
	m.Parent = Uint64(binary.BigEndian.Uint64(base[1+n:]))
	return nil, nil
}

// GetPredictions asks for the predictions of the header's board.
//
//	0  1  depth; 0 or absent = the server's default
//	1  1  limit; 0, absent or over 16 = 16
//
// More than 2 bytes are refused.
type GetPredictions struct {
	Depth uint8 `json:"depth"`
	Limit uint8 `json:"limit"`
}

func (m GetPredictions) append(dst []byte) ([]byte, error) { return append(dst, m.Depth, m.Limit), nil }

var errPredictionsLen = invalid("a request for predictions has at most 2 bytes")

func (m *GetPredictions) decode(base []byte) ([]byte, error) {
	*m = GetPredictions{}
	switch len(base) {
	case 2:
		m.Limit = base[1]
		fallthrough
	case 1:
		m.Depth = base[0]
	case 0:
	default:
		return nil, errPredictionsLen
	}
	return nil, nil
}

// PredictionStatus is the state of a prediction.
type PredictionStatus uint8

// The statuses.
const (
	PredictionPending   PredictionStatus = 0 // its move has not been made yet
	PredictionCorrect   PredictionStatus = 1 // the move was made
	PredictionIncorrect PredictionStatus = 2 // another move was made
	PredictionExpired   PredictionStatus = 3 // its parent was wrong, or the game has ended
)

// SubmitStatus is the value of the field prediction.submit_status: the result of a
// SUBMIT_PREDICTION.
type SubmitStatus int64

// The results of a submitted prediction.
const (
	SubmitCreated       SubmitStatus = 1 // the prediction is new
	SubmitDuplicate     SubmitStatus = 2 // the player already has a prediction under this parent
	SubmitDuplicateMove SubmitStatus = 3 // another player predicts the same move
	SubmitInvalid       SubmitStatus = 4 // not a move, not legal, already played, or the parent was wrong
	SubmitLimit         SubmitStatus = 5 // too many predictions are pending under this parent
	SubmitNotAllowed    SubmitStatus = 6 // the player may not predict here, or not that deep
	SubmitNotFound      SubmitStatus = 7 // the board or the parent is unknown
	SubmitDisabled      SubmitStatus = 8 // the server takes no predictions
)

// Prediction is one row of PredictionData; everything is big-endian.
//
//	 0   8  id
//	 8   8  parent; 0 = none
//	16  16  author: the reader's own token, or a pseudonym
//	32   8  points, float64
//	40   2  ply that it predicts
//	42   1  depth
//	43   1  status: 0 pending, 1 correct, 2 incorrect, 3 expired
//	44   1  n, at most 6
//	45   6  UCI, filled up with zeros
type Prediction struct {
	ID     Uint64 `json:"id"`
	Parent Uint64 `json:"parent"`
	// Author is the reader's own token; every other author has a pseudonym, because a token is
	// a secret.
	Author    Author           `json:"author"`
	Points    Float            `json:"points"`
	TargetPly uint16           `json:"target_ply"`
	Depth     uint8            `json:"depth"`
	Status    PredictionStatus `json:"status"`
	UCI       UCI              `json:"uci"`
}

const predictionSize = 51

// PredictionData answers SubmitPrediction and GetPredictions.
//
//	0    1  n, at most 16
//	1  51n  Prediction
//	        bytes after them are ignored
type PredictionData struct {
	Rows []Prediction `json:"rows"`
}

func (m PredictionData) append(dst []byte) ([]byte, error) {
	if len(m.Rows) > MaxRows {
		return dst, errManyRows
	}
	dst = append(dst, byte(len(m.Rows)))
	for i := range m.Rows {
		r := &m.Rows[i]
		dst = binary.BigEndian.AppendUint64(dst, uint64(r.ID))
		dst = binary.BigEndian.AppendUint64(dst, uint64(r.Parent))
		dst = append(dst, r.Author[:]...)
		dst = appendFloat(dst, r.Points)
		dst = binary.BigEndian.AppendUint16(dst, r.TargetPly)
		uci := r.UCI.bytes()
		dst = append(append(dst, r.Depth, byte(r.Status)), uci[:1+maxUCI]...)
	}
	return dst, nil
}

func (m *PredictionData) decode(base []byte) ([]byte, error) {
	if len(base) == 0 {
		return nil, errNoRows
	}
	n := int(base[0])
	if n > MaxRows {
		return nil, errRowCount
	}
	m.Rows = emptied(m.Rows)
	base = base[1:]
	if len(base) < n*predictionSize {
		return nil, errShortRows
	}
	for range n {
		if base[44] > maxUCI {
			return nil, errLongUCI
		}
		uci, _ := MakeUCI(base[45 : 45+base[44]])
		m.Rows = append(m.Rows, Prediction{
			ID:        Uint64(binary.BigEndian.Uint64(base)),
			Parent:    Uint64(binary.BigEndian.Uint64(base[8:])),
			Author:    Author(base[16:32]),
			Points:    float(base[32:]),
			TargetPly: binary.BigEndian.Uint16(base[40:]),
			Depth:     base[42],
			Status:    PredictionStatus(base[43]),
			UCI:       uci,
		})
		base = base[predictionSize:]
	}
	return base, nil
}
