package importer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/blake2b"

	"wamble"
	"wamble/chess"
	"wamble/internal/intent"
	"wamble/internal/store"
)

// pageSize is how many rows are read at once.
const pageSize = 256

// units reads everything in order: players, sessions, boards with what belongs to them, predictions.
func (r *run) units(ctx context.Context) error {
	r.players, r.fate = map[wamble.PublicKey]wamble.Player{}, make([]fate, len(r.ids[wamble.BoardIDs]))
	r.counts, r.left = map[string]int{}, map[Left]*Left{}
	for _, stage := range []func(context.Context) error{r.enrol, r.sessions, r.boards, r.predictions} {
		if err := stage(ctx); err != nil {
			return err
		}
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// enrol makes the players. One who is there already, from another database of the original, stays as they
// are: an identity is a key.
func (r *run) enrol(ctx context.Context) error {
	if !r.has["players.public_key"] {
		return nil
	}
	text := query(r.has, `SELECT p.public_key, {rating}, {player since} FROM players p ORDER BY p.public_key`)
	return each(ctx, r.games, text, nil, func(rows pgx.Rows) error {
		var key []byte
		var made *time.Time
		var p wamble.Player
		if err := rows.Scan(&key, &p.Stats.Rating, &made); err != nil {
			return err
		}
		p.Key, p.Created, p.Handle = keyOf(key), r.at(made), r.names[keyOf(key)]
		if p.Stats.Rating <= 0 {
			p.Stats.Rating = r.Rating
		}
		r.counts["players"]++
		if r.To == nil {
			p.ID = wamble.PlayerID(len(r.players) + 1)
			r.players[p.Key] = p
			return nil
		}
		there, err := r.To.Player(ctx, p.Key)
		if errors.Is(err, store.ErrNotFound) && r.verify != nil {
			r.verify.differs("player %x is missing", p.Key)
			return nil
		}
		if errors.Is(err, store.ErrNotFound) {
			if p.Handle, err = r.freeName(ctx, p); err == nil {
				there, err = r.To.Enrol(ctx, p)
			}
		}
		r.players[p.Key] = there
		return err
	})
}

// freeName returns the player's name, or one made of the key if they have none, or somebody else has it.
func (r *run) freeName(ctx context.Context, p wamble.Player) (string, error) {
	made := fmt.Sprintf("h_%x", p.Key[:6])
	for _, name := range []string{p.Handle, made, fmt.Sprintf("h_%x", p.Key[:16])} {
		if name == "" {
			continue
		}
		why := "it is none of ours: 3 to 63 letters, digits, - or _"
		if wamble.IsName(name) {
			_, err := r.To.SessionByHandle(ctx, name)
			if errors.Is(err, store.ErrNotFound) {
				return name, nil
			}
			if err != nil {
				return "", err
			}
			why = "another player has it"
		}
		r.leave("name of a player", why, name)
	}
	return "", fmt.Errorf("no name is free for the player %x", p.Key)
}

func (r *run) sessions(ctx context.Context) error {
	text := query(r.has, `SELECT s.id, s.token, {key}, {trust}, {session since}, {seen} FROM sessions s {with players} WHERE s.id > $1 ORDER BY s.id LIMIT $2`)
	type session struct {
		id, trust  int64
		token, key []byte
		made, seen *time.Time
	}
	for last := int64(0); ; {
		var page []session
		var ids []int64
		err := each(ctx, r.games, text, []any{last, pageSize}, func(rows pgx.Rows) error {
			var s session
			err := rows.Scan(&s.id, &s.token, &s.key, &s.trust, &s.made, &s.seen)
			page, ids = append(page, s), append(ids, s.id)
			return err
		})
		if err != nil || len(page) == 0 {
			return err
		}
		last = ids[len(ids)-1]
		terms, err := r.terms(ctx, ids)
		if err != nil {
			return err
		}
		for _, s := range page {
			id := wamble.SessionID(r.number(wamble.SessionIDs, s.id))
			in := &intent.CreateSession{Session: id, Token: tokenOf(s.token).Hash(), At: r.at(s.made, s.seen)}
			if s.key != nil {
				in.Player = r.players[keyOf(s.key)].ID
				s.trust = max(s.trust, int64(r.trust[keyOf(s.key)]))
			}
			unit := append([]intent.Intent{in}, terms[s.id]...)
			if s.trust > 0 {
				unit = append(unit, &intent.SetTrust{Session: id, Level: int(s.trust), At: in.At})
			}
			if s.seen != nil && s.seen.After(in.At) {
				unit = append(unit, &intent.UpdateSessionLastSeen{Session: id, At: r.at(s.seen)})
			}
			if err := r.unit(ctx, "sessions", unit); err != nil {
				return err
			}
		}
	}
}

// terms returns the terms that sessions have accepted. The original kept only the beginning of a long text,
// whose hash is that of the whole.
func (r *run) terms(ctx context.Context, sessions []int64) (map[int64][]intent.Intent, error) {
	all := map[int64][]intent.Intent{}
	err := each(ctx, r.games, query(r.has, "{terms}"), []any{sessions}, func(rows pgx.Rows) error {
		var session int64
		var hash []byte
		var at *time.Time
		in := &intent.RecordTermsAcceptance{}
		if err := rows.Scan(&session, &in.Profile, &hash, &in.Text, &at); err != nil {
			return err
		}
		in.Session, in.Hash, in.At = wamble.SessionID(r.number(wamble.SessionIDs, session)), [32]byte(keyOf(hash)), r.at(at)
		if blake2b.Sum256([]byte(in.Text)) != in.Hash {
			in.Text = ""
		}
		all[session] = append(all[session], in)
		return nil
	})
	return all, err
}

// board is a row of the original with what belongs to it.
type board struct {
	id                        int64
	fen, status, side, reason string
	variant                   int16
	seconds                   int64
	made, assigned, ended     *time.Time
	moves                     []played
	times                     []*time.Time
	paid                      []intent.RecordPayout
}

// hold is the reservation of a board. A session of the original could hold several: the last one counts.
type hold struct {
	session        int64
	expires, since *time.Time
}

func (r *run) boards(ctx context.Context) error {
	held := map[int64]hold{}
	err := each(ctx, r.games, query(r.has, "{held}"), nil, func(rows pgx.Rows) error {
		var id int64
		var h hold
		err := rows.Scan(&id, &h.session, &h.expires, &h.since)
		held[id] = h
		return err
	})
	if err != nil {
		return err
	}
	ids := r.ids[wamble.BoardIDs]
	for len(ids) > 0 {
		page, err := r.readBoards(ctx, ids[:min(len(ids), pageSize)])
		if err != nil {
			return err
		}
		ids = ids[len(page):]
		for i := range page {
			if err := r.unit(ctx, "boards", r.board(&page[i], held[page[i].id])); err != nil {
				return err
			}
		}
	}
	return nil
}

// readBoards reads boards, their moves and their payouts.
func (r *run) readBoards(ctx context.Context, ids []int64) ([]board, error) {
	page, at := make([]board, 0, len(ids)), make(map[int64]int, len(ids))
	err := each(ctx, r.games, query(r.has, `SELECT b.id, b.fen, b.status, {board since}, {assigned}, {variant}, {side}, {finished}, {reason}, {seconds}
		FROM boards b {with variants} {with results} WHERE b.id = ANY($1) ORDER BY b.id`), []any{ids}, func(rows pgx.Rows) error {
		var b board
		err := rows.Scan(&b.id, &b.fen, &b.status, &b.made, &b.assigned, &b.variant, &b.side, &b.ended, &b.reason, &b.seconds)
		at[b.id] = len(page)
		page = append(page, b)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, r.games, query(r.has, `SELECT m.board_id, m.session_id, m.move_uci, {number} AS number, {moved} AS moved FROM moves m
		WHERE m.board_id = ANY($1) ORDER BY m.board_id, number, moved, m.id`), []any{ids}, func(rows pgx.Rows) error {
		var id int64
		var m played
		var t *time.Time
		err := rows.Scan(&id, &m.session, &m.uci, &m.number, &t)
		b := &page[at[id]]
		b.moves, b.times = append(b.moves, m), append(b.times, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	return page, each(ctx, r.games, query(r.has, "{payouts}"), []any{ids}, func(rows pgx.Rows) error {
		var id, session int64
		var t *time.Time
		var y intent.RecordPayout
		err := rows.Scan(&id, &session, &y.Points, &y.Canonical, &t)
		y.Session, y.At = wamble.SessionID(r.number(wamble.SessionIDs, session)), r.at(t)
		page[at[id]].paid = append(page[at[id]].paid, y)
		return err
	})
}

// board returns a board as intents. Whose moves do not lead to its position is left out if it is in play,
// and otherwise keeps its result and payouts.
func (r *run) board(b *board, h hold) []intent.Intent {
	id := wamble.BoardID(r.number(wamble.BoardIDs, b.id))
	status, err := wamble.ParseBoardStatus(b.status)
	if err != nil {
		status = wamble.Dormant // as in the original
	}
	if b.side != "" || len(b.paid) > 0 {
		status = wamble.Archived
	}
	g, why := replay(b.variant, b.fen, b.moves)
	switch {
	case why == "":
		b.fen = g.end.FEN()
	case status == wamble.Archived:
		r.leave("moves of a finished game", "its result and payouts are brought: "+general(why), fmt.Sprintf("board %d: %s", b.id, why))
	default:
		r.leave("board in play, with its moves", general(why), fmt.Sprintf("board %d: %s", b.id, why))
		return nil
	}
	r.fate[int64(id)-r.base[wamble.BoardIDs]] = inPlay
	if status == wamble.Archived {
		r.fate[int64(id)-r.base[wamble.BoardIDs]] = finished
	} else if h.session == 0 && status == wamble.Reserved {
		status = wamble.Dormant // it was held by a guest, of whom the original keeps nothing
	} else if h.session != 0 {
		status = wamble.Reserved
	}
	made := r.at(b.made)
	unit := []intent.Intent{&intent.CreateBoard{Board: id, FEN: b.fen, Status: status, Variant: b.variant, At: made}}
	if b.assigned != nil {
		unit = append(unit, &intent.UpdateBoardAssignmentTime{Board: id, At: r.at(b.assigned)})
	}
	if n := len(g.order); n > 0 {
		unit = append(unit, &intent.UpdateBoard{Board: id, FEN: b.fen, Status: status, Version: uint64(n), At: made})
	}
	moved := map[int64]bool{}
	for ply, i := range g.order {
		m := b.moves[i]
		unit = append(unit, &intent.RecordMove{Board: id, Session: wamble.SessionID(r.number(wamble.SessionIDs, m.session)),
			UCI: g.moves[ply], Ply: ply + 1, First: !moved[m.session], At: r.at(b.times[i], b.made)})
		moved[m.session] = true
	}
	if b.side != "" {
		ended := r.at(b.ended)
		if reason := reasons[g.ending.Reason]; reason != "" {
			b.reason = reason
		}
		duration := time.Duration(b.seconds) * time.Second
		if duration == 0 {
			duration = ended.Sub(made)
		}
		unit = append(unit, &intent.RecordGameResult{Board: id, Result: results[b.side], Plies: len(b.moves),
			Duration: max(0, duration), Reason: b.reason[:min(len(b.reason), 31)], At: ended})
	}
	for _, y := range b.paid {
		y.Board, y.Points, y.Canonical = id, fourPlaces(y.Points), fourPlaces(y.Canonical)
		unit = append(unit, &y)
	}
	if status == wamble.Reserved {
		unit = append(unit, &intent.CreateReservation{Board: id, Session: wamble.SessionID(r.number(wamble.SessionIDs, h.session)),
			White: g.end.Turn() == chess.White, At: r.at(h.since, b.assigned), Expires: r.at(h.expires)})
	}
	return unit
}

// general is a reason without what is different on each board.
func general(why string) string {
	for _, kind := range []string{"is not legal", "its FEN is wrong", "moves lead to"} {
		if strings.Contains(why, kind) {
			return map[string]string{"is not legal": "a move is not legal where it stands, because earlier ones are missing",
				"its FEN is wrong": "its FEN is wrong", "moves lead to": "its moves do not lead to its position"}[kind]
		}
	}
	return why
}

func (r *run) predictions(ctx context.Context) error {
	if !r.has["predictions.move_number"] {
		for _, id := range r.ids[wamble.PredictionIDs] {
			r.leave("predictions", "this state of the original did not keep for which move they are", fmt.Sprint(id))
		}
		return nil
	}
	statuses := map[string]wamble.PredictionStatus{"PENDING": wamble.Pending, "CORRECT": wamble.Correct,
		"INCORRECT": wamble.Incorrect, "EXPIRED": wamble.Expired}
	for last := int64(0); ; {
		n := 0
		var units [][]intent.Intent
		err := each(ctx, r.games, query(r.has, "{predictions}"), []any{last, pageSize}, func(rows pgx.Rows) error {
			var board, session, parent int64
			var status string
			var points float64
			var made, resolved *time.Time
			var in intent.RecordPrediction
			n++
			if err := rows.Scan(&last, &board, &session, &in.UCI, &status, &in.Ply, &parent, &in.Streak, &points, &made, &resolved); err != nil {
				return err
			}
			in.Board, in.Session = wamble.BoardID(r.number(wamble.BoardIDs, board)), wamble.SessionID(r.number(wamble.SessionIDs, session))
			fate := r.fate[int64(in.Board)-r.base[wamble.BoardIDs]]
			if fate == leftOut {
				r.leave("predictions", "their board is left out", fmt.Sprint(last))
				return nil
			}
			in.ID, in.At = wamble.PredictionID(r.number(wamble.PredictionIDs, last)), r.at(made)
			if parent < last {
				in.Parent = wamble.PredictionID(r.number(wamble.PredictionIDs, parent))
			}
			unit := []intent.Intent{&in}
			if got := statuses[status]; got != wamble.Pending || fate == finished {
				if got == wamble.Pending {
					got, points = wamble.Expired, 0
				}
				unit = append(unit, &intent.ResolvePrediction{ID: in.ID, Session: in.Session, Status: got, Points: fourPlaces(points), At: r.at(resolved, made)})
			}
			units = append(units, unit)
			return nil
		})
		for _, unit := range units {
			if err == nil {
				err = r.unit(ctx, "predictions", unit)
			}
		}
		if err != nil || n == 0 {
			return err
		}
	}
}
