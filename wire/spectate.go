package wire

// SpectateGame asks to watch: the header's board, or all boards if it is 0. Flags 0x02 (Chess960) and 0x04 (standard) choose the boards of the
// summary.
//
//	0  n  ignored
type SpectateGame struct{ empty }

// SpectateUpdate shows a watched board to a spectator. Board 0 with an empty
// FEN begins a new summary, or says that nothing is watched any more.
//
//	0  n  FEN: placement and side to move
type SpectateUpdate struct {
	FEN Text `json:"fen"`
}

func (m SpectateUpdate) append(dst []byte) ([]byte, error)   { return appendText(dst, m.FEN) }
func (m *SpectateUpdate) decode(base []byte) ([]byte, error) { return decodeText(&m.FEN, base) }

// SpectateStop ends watching.
//
//	0  n  ignored
type SpectateStop struct{ empty }
