package importer

import (
	"context"
	"errors"
	"fmt"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store"
)

// mostProblems is how many differences are told.
const mostProblems = 20

// verifier compares what the units say with what the store answers.
type verifier struct {
	*run
	board    wamble.Board
	sessions map[wamble.SessionID]*wamble.Session
	problems []string
	more     int
}

// Verify compares everything that was imported with what the store says: each session's token, player, trust and
// totals, each board's position by replay, moves, result and holder, and the sum of all points. It returns what
// differs. Play on the boards differs, too: verify before the server starts.
func (s *Source) Verify(ctx context.Context, o Options) ([]string, error) {
	v := &verifier{run: &run{Source: s, Options: o}, sessions: map[wamble.SessionID]*wamble.Session{}}
	v.verify = v
	if err := v.prepare(ctx, false); err != nil {
		return nil, err
	}
	if ok, err := v.marked(ctx, "complete", 0); err != nil || !ok {
		return nil, errors.Join(err, fmt.Errorf("the import to profile %s is not complete: give the command again", o.Profile))
	}
	if err := v.units(ctx); err != nil {
		return nil, err
	}
	if err := errors.Join(v.checkSessions(ctx), v.checkPoints(ctx)); err != nil {
		return nil, err
	}
	if v.more > 0 {
		v.problems = append(v.problems, fmt.Sprintf("and %d more", v.more))
	}
	return v.problems, nil
}

func (v *verifier) differs(format string, args ...any) {
	if len(v.problems) < mostProblems {
		v.problems = append(v.problems, fmt.Sprintf(format, args...))
	} else {
		v.more++
	}
}

// expects has what intents say about the rows that are compared.
var expects = map[intent.Kind]func(*verifier, intent.Intent){
	intent.KindCreateSession: of(func(v *verifier, in *intent.CreateSession) {
		v.sessions[in.Session] = &wamble.Session{ID: in.Session, Token: in.Token, Player: in.Player}
	}),
	intent.KindSetTrust: of(func(v *verifier, in *intent.SetTrust) { v.sessions[in.Session].Trust = in.Level }),
	intent.KindCreateBoard: of(func(v *verifier, in *intent.CreateBoard) {
		v.board = wamble.Board{ID: in.Board, FEN: in.FEN, Status: in.Status, Variant: in.Variant}
	}),
	intent.KindRecordMove: of(func(v *verifier, in *intent.RecordMove) {
		v.board.Moves = append(v.board.Moves, wamble.Move{Ply: in.Ply, UCI: in.UCI, Session: in.Session})
		if in.First {
			v.sessions[in.Session].Stats.Games++
		}
	}),
	intent.KindRecordGameResult: of(func(v *verifier, in *intent.RecordGameResult) { v.board.Result = &wamble.GameResult{Result: in.Result} }),
	intent.KindCreateReservation: of(func(v *verifier, in *intent.CreateReservation) {
		v.board.Holder = &wamble.Reservation{Session: in.Session}
	}),
	intent.KindRecordPayout: of(func(v *verifier, in *intent.RecordPayout) { v.sessions[in.Session].Stats.Score += in.Points }),
	intent.KindResolvePrediction: of(func(v *verifier, in *intent.ResolvePrediction) {
		v.sessions[in.Session].Stats.PredictionScore += in.Points
	}),
}

func of[T intent.Intent](f func(*verifier, T)) func(*verifier, intent.Intent) {
	return func(v *verifier, in intent.Intent) { f(v, in.(T)) }
}

// unit compares the board of a unit, if it is one.
func (v *verifier) unit(ctx context.Context) error {
	want := v.board
	v.board = wamble.Board{}
	if want.ID == 0 {
		return nil
	}
	got, err := v.To.Board(ctx, want.ID)
	if errors.Is(err, store.ErrNotFound) {
		v.differs("board %d is missing", want.ID)
		return nil
	}
	if err != nil {
		return err
	}
	p, err := begin(got.Variant)
	same := err == nil && len(got.Moves) == len(want.Moves)
	for i := 0; same && i < len(got.Moves); i++ {
		a, b := got.Moves[i], want.Moves[i]
		move, err := p.ParseUCI(a.UCI)
		if same = err == nil && a.Ply == b.Ply && a.UCI == b.UCI && a.Session == b.Session; same {
			p = p.Play(move)
		}
	}
	switch {
	case !same:
		v.differs("board %d: its moves are not those of the original", want.ID)
	case len(got.Moves) > 0 && p.FEN() != got.FEN, got.FEN != want.FEN:
		v.differs("board %d: it stands at %s, not at %s", want.ID, got.FEN, want.FEN)
	case got.Status != want.Status || got.Variant != want.Variant || got.Profile != v.Profile:
		v.differs("board %d is %v of %s, variant %d, not %v, variant %d", want.ID, got.Status, got.Profile, got.Variant, want.Status, want.Variant)
	case (got.Result == nil) != (want.Result == nil) || got.Result != nil && got.Result.Result != want.Result.Result:
		v.differs("board %d has another result", want.ID)
	case (got.Holder == nil) != (want.Holder == nil) || got.Holder != nil && got.Holder.Session != want.Holder.Session:
		v.differs("board %d has another holder", want.ID)
	}
	return nil
}

// checkSessions compares the sessions, with their totals.
func (v *verifier) checkSessions(ctx context.Context) error {
	for at := 0; at < len(v.ids[wamble.SessionIDs]); at += pageSize {
		var ids []wamble.SessionID
		for i := at; i < min(at+pageSize, len(v.ids[wamble.SessionIDs])); i++ {
			ids = append(ids, wamble.SessionID(v.base[wamble.SessionIDs]+int64(i)))
		}
		found, err := v.To.Holders(ctx, ids, v.Profile, [32]byte{})
		if err != nil {
			return err
		}
		if len(found) != len(ids) {
			v.differs("%d of the sessions %d to %d are missing", len(ids)-len(found), ids[0], ids[len(ids)-1])
		}
		for _, got := range found {
			want := v.sessions[got.ID]
			if got.Token != want.Token || got.Session.Player != want.Player || got.Trust != want.Trust ||
				got.Stats.Games != want.Stats.Games || fourPlaces(got.Stats.Score-want.Stats.Score) != 0 ||
				fourPlaces(got.Stats.PredictionScore-want.Stats.PredictionScore) != 0 {
				v.differs("session %d has player %d, trust %d, %+v, not player %d, trust %d, %+v", got.ID, got.Session.Player, got.Trust,
					got.Stats, want.Player, want.Trust, want.Stats)
			}
		}
	}
	return nil
}

// checkPoints compares the sum of all points with what the original's database adds up.
func (v *verifier) checkPoints(ctx context.Context) error {
	if !v.has["payouts.points_awarded"] {
		return nil
	}
	var there, here float64
	if err := v.games.QueryRow(ctx, `SELECT coalesce(sum(points_awarded), 0)::float8 FROM payouts`).Scan(&there); err != nil {
		return err
	}
	for _, s := range v.sessions {
		here += s.Stats.Score
	}
	if fourPlaces(there-here) != 0 {
		v.differs("all sessions together have %v points, in the original %v", fourPlaces(here), there)
	}
	return nil
}
