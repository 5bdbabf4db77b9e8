package schema

import (
	"context"
	"errors"

	"wamble"
	"wamble/internal/store"
)

const newestSession = ` ORDER BY s.last_seen_at DESC, s.id DESC LIMIT `

// Session implements store.Queries.
func (q *Queries) Session(ctx context.Context, token wamble.Token) (wamble.Session, error) {
	hash := token.Hash()
	return q.session(ctx, `WHERE s.token = $1`, hash[:])
}

// SessionByID implements store.Queries.
func (q *Queries) SessionByID(ctx context.Context, id wamble.SessionID) (wamble.Session, error) {
	return q.session(ctx, `WHERE s.id = $1`, int64(id))
}

// SessionByHandle implements store.Queries.
func (q *Queries) SessionByHandle(ctx context.Context, handle string) (wamble.Session, error) {
	named := `FROM players o WHERE ` + q.Dialect.named("$1")
	out, err := q.session(ctx, `WHERE s.player_id = (SELECT o.id `+named+`)`+newestSession+`1`, handle)
	if !errors.Is(err, store.ErrNotFound) {
		return out, err
	}
	return readOne(ctx, q, "read player by handle", Ask{Text: `SELECT o.id, o.public_key, o.handle ` + named,
		Args: []any{handle}}, func(scan Scan) (s wamble.Session, err error) {
		var key []byte
		err = scan(&s.Player, &key, &s.Handle)
		copy(s.Key[:], key)
		return s, err
	})
}

func (q *Queries) session(ctx context.Context, where string, arg any) (wamble.Session, error) {
	return readOne(ctx, q, "read session", Ask{Text: q.Dialect.sessions() + where, Args: []any{arg}},
		scanSession)
}

// Sessions implements store.Queries.
func (q *Queries) Sessions(ctx context.Context, key wamble.PublicKey, most int) ([]wamble.Session, error) {
	if err := checkSessions(most); err != nil {
		return nil, err
	}
	return readAll(ctx, q, "read sessions", Ask{Text: q.Dialect.sessions() + `WHERE s.player_id = ` + ofKey + ` AND s.token IS NOT NULL` + newestSession + `$2`, Args: []any{key[:], most}}, scanSession)
}

// Holders implements store.Queries.
func (q *Queries) Holders(ctx context.Context, sessions []wamble.SessionID, profile string,
	terms [32]byte) ([]store.Holder, error) {
	h := holders{players: map[wamble.PlayerID]*wamble.Player{}, accepted: map[wamble.SessionID]bool{}}
	list, in := listOf(q.Dialect, sessions), q.Dialect.in
	err := q.Read(ctx, "read holders",
		Ask{Text: q.Dialect.sessions() + `WHERE ` + in("s.id", "$1"), Args: []any{list}, Row: h.session},
		Ask{Text: selectPlayer + `WHERE p.id IN (SELECT player_id FROM sessions WHERE ` + in("id", "$1") + `) GROUP BY p.id`,
			Args: []any{list}, Row: h.player},
		Ask{Text: `SELECT session_id FROM profile_terms_acceptances WHERE ` + in("session_id", "$1") + ` AND profile_name = $2 AND tos_hash = $3`,
			Args: []any{list, profile, terms[:]}, Row: h.acceptance})
	if err != nil {
		return nil, err
	}
	return h.joined(), nil
}

// holders collects the data of sessions that hold boards.
type holders struct {
	all      []store.Holder
	players  map[wamble.PlayerID]*wamble.Player
	accepted map[wamble.SessionID]bool
}

func (h *holders) session(scan Scan) error {
	s, err := scanSession(scan)
	h.all = append(h.all, store.Holder{Session: s})
	return err
}

func (h *holders) player(scan Scan) error {
	p, err := scanPlayer(scan)
	h.players[p.ID] = &p
	return err
}

func (h *holders) acceptance(scan Scan) error {
	id, err := scanValue[wamble.SessionID](scan)
	h.accepted[id] = true
	return err
}

// joined returns the holders with their identities.
func (h *holders) joined() []store.Holder {
	for i := range h.all {
		s := &h.all[i]
		s.Accepted = h.accepted[s.ID]
		if p := h.players[s.Session.Player]; p != nil && s.Session.Player != 0 {
			own := *p
			own.Key = s.Key
			s.Player = &own
		}
	}
	return h.all
}
