package schema

import (
	"fmt"
	"time"

	"wamble"
)

// Scan is the method of either driver's row that copies its columns into variables. Both stores
// select the columns of each function below in the same order.
type Scan func(into ...any) error

// moment reads a time as either store keeps it: a timestamp, or microseconds since 1970. NULL
// is the zero time.
type moment time.Time

// at makes a column scan into t.
func at(t *time.Time) *moment { return (*moment)(t) }

// Scan implements sql.Scanner.
func (m *moment) Scan(column any) error {
	switch c := column.(type) {
	case nil:
		*m = moment{}
	case int64:
		*m = moment(Time(c))
	case time.Time:
		*m = moment(c.UTC())
	default:
		return fmt.Errorf("a time is stored as %T", column)
	}
	return nil
}

// scanSession reads a session with its player, if it has one.
func scanSession(scan Scan) (s wamble.Session, err error) {
	var token, key []byte
	var player *wamble.PlayerID
	var handle *string
	err = scan(&s.ID, &token, &player, &key, &handle, &s.Trust, at(&s.Created), at(&s.LastSeen),
		&s.Stats.Score, &s.Stats.PredictionScore, &s.Stats.Rating, &s.Stats.Games, &s.Stats.Chess960Games, &s.Host,
		&s.Bot)
	if err != nil {
		return wamble.Session{}, err
	}
	copy(s.Token[:], token)
	copy(s.Key[:], key)
	if player != nil && handle != nil {
		s.Player, s.Handle = *player, *handle
	}
	return s, nil
}

// scanPlayer reads a player without their key.
func scanPlayer(scan Scan) (p wamble.Player, err error) {
	err = scan(&p.ID, &p.Handle, at(&p.Created), at(&p.Renamed), &p.Stats.Rating,
		&p.Stats.Score, &p.Stats.PredictionScore, &p.Stats.Games, &p.Stats.Chess960Games)
	return p, err
}

// scanBoard reads a board with its holder and its result, without its moves.
func scanBoard(scan Scan) (b wamble.Board, err error) {
	var status string
	var holder *wamble.SessionID
	var white *bool
	var since, until, finished time.Time
	var key []byte
	var result, reason *string
	var plies *int
	var micros *int64
	err = scan(&b.ID, &b.Profile, &b.FEN, &status, &b.Variant, &b.Version, at(&b.Created), at(&b.LastAssigned),
		&holder, &white, at(&since), at(&until), &key, &result, &plies, &micros, &reason, at(&finished))
	if err != nil {
		return b, err
	}
	if b.Status, err = wamble.ParseBoardStatus(status); err != nil {
		return b, Badf("board %d: %v", b.ID, err)
	}
	if holder != nil {
		b.Holder = &wamble.Reservation{Board: b.ID, Profile: b.Profile, Session: *holder, White: *white, At: since,
			Expires: until}
		copy(b.Holder.Key[:], key)
	}
	if result != nil {
		r, err := wamble.ParseResult(*result)
		if err != nil {
			return b, Badf("board %d: %v", b.ID, err)
		}
		b.Result = &wamble.GameResult{Result: r, Plies: *plies, Duration: time.Duration(*micros) * time.Microsecond,
			Reason: *reason, Finished: finished}
	}
	return b, nil
}

// scanReservation reads a reservation without the key of its holder.
func scanReservation(scan Scan) (r wamble.Reservation, err error) {
	err = scan(&r.Board, &r.Profile, &r.Session, &r.White, at(&r.At), at(&r.Expires))
	return r, err
}

// scanPrediction reads a prediction.
func scanPrediction(scan Scan) (p wamble.Prediction, err error) {
	var status string
	err = scan(&p.ID, &p.Board, &p.Session, &p.Parent, &p.UCI, &p.Ply, &p.Depth, &p.Streak, &status, &p.Points,
		at(&p.At))
	if err != nil {
		return p, err
	}
	if p.Status, err = wamble.ParsePredictionStatus(status); err != nil {
		return p, Badf("prediction %d: %v", p.ID, err)
	}
	return p, nil
}

// scanScore reads a score.
func scanScore(scan Scan) (s wamble.Score, err error) {
	err = scan(&s.Board, &s.Points, &s.Rating, at(&s.At))
	return s, err
}

// scanRank reads a row of a leaderboard.
func scanRank(scan Scan) (row wamble.LeaderboardRow, err error) {
	var key []byte
	st := &row.Stats
	err = scan(&row.Session, &key, &row.Handle, &st.Score, &st.PredictionScore, &st.Rating, &st.Games,
		&st.Chess960Games, &row.Who, &row.Rank)
	copy(row.Key[:], key)
	return row, err
}
