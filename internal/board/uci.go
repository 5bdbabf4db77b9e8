package board

import "wamble/chess"

// The texts of all moves, so that an intent does not allocate its own: one string with the 64 × 64 pairs of
// squares, one with the promotions by side, files and piece.
var plainMoves, promotions = func() (string, string) {
	var plain, promoting []byte
	for from := range chess.NoSquare {
		for to := range chess.NoSquare {
			plain = append(append(plain, from.String()...), to.String()...)
		}
	}
	for side := range 2 {
		for from := range 8 {
			for to := range 8 {
				for _, kind := range "nbrq" {
					promoting = append(promoting, 'a'+byte(from), "72"[side], 'a'+byte(to), "81"[side], byte(kind))
				}
			}
		}
	}
	return string(plain), string(promoting)
}()

// uciOf returns a legal move in UCI without allocating.
func uciOf(m chess.Move) string {
	kind := m.Promotion()
	if kind == chess.None {
		i := (int(m.From())<<6 | int(m.To())) * 4
		return plainMoves[i : i+4]
	}
	side := 0
	if m.To().Rank() == 0 {
		side = 1
	}
	i := (((side<<3|m.From().File())<<3|m.To().File())<<2 | int(kind-chess.Knight)) * 5
	return promotions[i : i+5]
}
