package profile

import (
	"fmt"

	"wamble"
	"wamble/internal/intent"
)

// places is the judge's record of the shard of each board: each is in one shard, and only
// that one may journal intents about it.
type places struct {
	part     int // of the log that is read
	at       map[wamble.BoardID]int
	underway map[wamble.BoardID]bool // sent, and not yet taken in
	sent     int
}

func newPlaces() places {
	return places{at: map[wamble.BoardID]int{}, underway: map[wamble.BoardID]bool{}}
}

// placed checks that an intent about a board comes from the board's shard.
func (j *judge) placed(in intent.Intent) error {
	var id wamble.BoardID
	switch in := in.(type) {
	case *intent.CreateBoard:
		j.at[in.Board] = j.part
		return nil
	case *intent.UpdateBoard:
		id = in.Board
	case *intent.UpdateBoardAssignmentTime:
		id = in.Board
	case *intent.RecordMove:
		id = in.Board
	case *intent.CreateReservation:
		id = in.Board
	case *intent.RemoveReservation:
		id = in.Board
	case *intent.RecordGameResult:
		id = in.Board
	case *intent.MoveBoard:
		id = in.Board
	case *intent.ArriveBoard:
		id = in.Board
	default:
		return nil
	}
	if at, ok := j.at[id]; !ok || at != j.part {
		return fmt.Errorf("shard %d says it of a board that is in shard %d", j.part, at)
	}
	switch in := in.(type) {
	case *intent.MoveBoard:
		if g := j.games[id]; g.over || g.holder != 0 || in.From != j.part || in.To == j.part ||
			in.Version != j.lastly[id] {
			return fmt.Errorf("over, held by %d, or not with version %d", g.holder, j.lastly[id])
		}
		j.at[id], j.underway[id] = in.To, true
		j.sent++
	case *intent.ArriveBoard:
		delete(j.underway, id)
	}
	return nil
}
