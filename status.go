package wamble

import "fmt"

// BoardStatus is the state of a board, as the boards table spells it.
type BoardStatus uint8

// The closed list of board states.
const (
	Active   BoardStatus = iota // free, with a move since it was dormant
	Reserved                    // held by a session that is to move
	Dormant                     // free; new, or without a move for a while
	Archived                    // the game is over
)

var boardStatusNames = [...]string{"ACTIVE", "RESERVED", "DORMANT", "ARCHIVED"}

func (s BoardStatus) String() string { return nameOf("BoardStatus", uint8(s), boardStatusNames[:]) }

// ParseBoardStatus reads the text of String.
func ParseBoardStatus(text string) (BoardStatus, error) {
	i, err := indexOf("board status", text, boardStatusNames[:])
	return BoardStatus(i), err
}

// Result is the result of a game.
type Result uint8

// The closed list of results.
const (
	WhiteWins Result = iota
	BlackWins
	Draw
)

var resultNames = [...]string{"w", "b", "d"}

func (r Result) String() string { return nameOf("Result", uint8(r), resultNames[:]) }

// ParseResult reads the text of String.
func ParseResult(text string) (Result, error) {
	i, err := indexOf("result", text, resultNames[:])
	return Result(i), err
}

// PredictionStatus is the state of a prediction. Its number is sent in PREDICTION_DATA.
type PredictionStatus uint8

// The closed list of prediction states.
const (
	Pending PredictionStatus = iota
	Correct
	Incorrect
	Expired
)

var predictionStatusNames = [...]string{"PENDING", "CORRECT", "INCORRECT", "EXPIRED"}

func (s PredictionStatus) String() string {
	return nameOf("PredictionStatus", uint8(s), predictionStatusNames[:])
}

// ParsePredictionStatus reads the text of String.
func ParsePredictionStatus(text string) (PredictionStatus, error) {
	i, err := indexOf("prediction status", text, predictionStatusNames[:])
	return PredictionStatus(i), err
}

func nameOf(typ string, i uint8, names []string) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", typ, i)
}

func indexOf(what, text string, names []string) (int, error) {
	for i, name := range names {
		if name == text {
			return i, nil
		}
	}
	return 0, fmt.Errorf("unknown %s %q", what, text)
}
