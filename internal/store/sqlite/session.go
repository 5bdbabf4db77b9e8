package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

func (t *tx) createSessions(run []intent.Intent) error {
	args := t.list(len(run), 5)
	for _, in := range schema.As[*intent.CreateSession](run) {
		at := schema.Micros(in.At)
		args = append(args, int64(in.Session), in.Token[:], nullable(int64(in.Player)), at, at)
	}
	n, err := t.many(`INSERT INTO sessions (id, token, player_id, created_at, last_seen_at) VALUES $rows ON CONFLICT DO NOTHING`, "(?,?,?,?,?)", args)
	if err != nil {
		return err
	}
	before, err := t.short(n, len(run))
	if err != nil {
		return err
	}
	for _, in := range schema.As[*intent.CreateSession](run) {
		if before {
			ok, err := t.exists(`SELECT 1 FROM sessions WHERE id = ?`, int64(in.Session))
			if err != nil {
				return err
			}
			if !ok {
				return schema.Badf("%v: the token of session %d belongs to another one", in.Kind(), in.Session)
			}
		} else if in.Player != 0 {
			_, err := t.exec(`UPDATE sessions SET rating = (SELECT rating FROM players WHERE id = sessions.player_id) WHERE id = ?`, int64(in.Session))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// here returns the SQL condition that a session is not erased or purged: nothing is stored for
// those any more. A session that does not exist is refused by foreign keys.
func here(session string) string {
	return `NOT EXISTS (SELECT 1 FROM sessions WHERE id = ` + session + ` AND token IS NULL)`
}

func (t *tx) linkSessions(run []intent.Intent) error {
	return forEach(run, func(in *intent.LinkSession) error {
		at := schema.Micros(in.At)
		err := t.do(`INSERT INTO players (id, public_key, handle, rating, created_at) SELECT ?1, ?2, ?3, round(?4, 4), ?5
			WHERE EXISTS (SELECT 1 FROM sessions WHERE id = ?6 AND token IS NOT NULL AND ifnull(identity_at, 0) <= ?5) ON CONFLICT (public_key) DO NOTHING`,
			int64(in.Player), in.Key[:], in.Handle, in.Rating, at, int64(in.Session))
		if err != nil {
			return err
		}
		n, err := t.exec(`UPDATE sessions SET player_id = p.id, rating = p.rating, identity_at = ? FROM players p
			WHERE p.public_key = ? AND sessions.id = ? AND token IS NOT NULL AND ifnull(identity_at, 0) <= ?`, at, in.Key[:], int64(in.Session), at)
		if err != nil || n > 0 {
			return err
		}
		ok, err := t.exists(`SELECT 1 FROM sessions WHERE id = ?`, int64(in.Session))
		if err == nil && !ok {
			err = schema.Badf("%v: there is no session %d", in.Kind(), in.Session)
		}
		return err
	})
}

func (t *tx) unlinkSessions(run []intent.Intent) error {
	return forEach(run, func(in *intent.UnlinkSession) error {
		at := schema.Micros(in.At)
		return t.do(`UPDATE sessions SET player_id = NULL, rating = 0, identity_at = ? WHERE id = ? AND ifnull(identity_at, 0) <= ?`,
			at, int64(in.Session), at)
	})
}

// markBots marks sessions; a trigger marks their players.
func (t *tx) markBots(run []intent.Intent) error {
	return forEach(run, func(in *intent.MarkBot) error {
		n, err := t.exec(`UPDATE sessions SET bot = 1 WHERE id = ?`, int64(in.Session))
		if err == nil && n == 0 {
			err = schema.Badf("%v: there is no session %d", in.Kind(), in.Session)
		}
		return err
	})
}

func (t *tx) renewTokens(run []intent.Intent) error {
	return forEach(run, func(in *intent.RenewToken) error {
		at := schema.Micros(in.At)
		return t.do(`UPDATE sessions SET token = ?, token_host = nullif(?, ''), token_at = ? WHERE id = ? AND token IS NOT NULL AND ifnull(token_at, 0) <= ?`,
			in.Token[:], in.Host, at, int64(in.Session), at)
	})
}

func (t *tx) setTrust(run []intent.Intent) error {
	return forEach(run, func(in *intent.SetTrust) error {
		text, who := `UPDATE sessions SET trust_level = ? WHERE id = ?`, any(int64(in.Session))
		if in.Session == 0 {
			text, who = `UPDATE sessions SET trust_level = ? WHERE player_id = (SELECT id FROM players WHERE public_key = ?)`, in.Key[:]
		}
		n, err := t.exec(text, in.Level, who)
		if err == nil && n == 0 && in.Session != 0 {
			err = schema.Badf("%v: there is no session %d", in.Kind(), in.Session)
		}
		return err
	})
}

// TrustChanges implements store.Queries. The only writer numbers the changes, so the numbers
// are in order.
func (s *Store) TrustChanges(ctx context.Context, since int64) ([]wamble.TrustLevel, int64, error) {
	var all []wamble.TrustLevel
	mark := since
	err := s.read(ctx, "read trust", schema.Ask{
		Text: `SELECT id, trust_level, trust_change FROM sessions WHERE trust_change > ? ORDER BY trust_change DESC LIMIT 10000`,
		Args: []any{since}, Row: func(scan schema.Scan) error {
			var row wamble.TrustLevel
			var change int64
			err := scan(&row.Session, &row.Level, &change)
			mark = max(mark, change)
			all = append(all, row)
			return err
		}})
	return all, mark, err
}

func (t *tx) revokeSessions(run []intent.Intent) error {
	return forEach(run, func(in *intent.RevokeSessions) error {
		if in.Key.IsZero() {
			return t.do(`UPDATE sessions SET token = NULL, token_host = NULL WHERE id = ? AND player_id IS NULL AND ifnull(token_at, created_at) <= ?`,
				int64(in.Session), schema.Micros(in.At))
		}
		return t.do(`UPDATE sessions SET token = NULL, token_host = NULL WHERE player_id = (SELECT id FROM players WHERE public_key = ?1)
			AND (id = ?2) <> ?3 AND ifnull(token_at, created_at) <= ?4`, in.Key[:], int64(in.Session), in.Others, schema.Micros(in.At))
	})
}

func (t *tx) seeSessions(run []intent.Intent) error {
	seen := schema.NewestSeen(run)
	args := t.list(len(seen), 2)
	for _, in := range seen {
		args = append(args, int64(in.Session), schema.Micros(in.At))
	}
	_, err := t.many(`UPDATE sessions SET last_seen_at = v.column2 FROM (VALUES $rows) v
		WHERE sessions.id = v.column1 AND sessions.last_seen_at < v.column2`, "(?,?)", args)
	return err
}

// purgeSessions skips sessions that hold a board: they are purged when the reservation is gone.
func (t *tx) purgeSessions(run []intent.Intent) error {
	const old = `player_id IS NULL AND token IS NOT NULL AND last_seen_at < ? AND NOT EXISTS (SELECT 1 FROM reservations r WHERE r.session_id = sessions.id)`
	const gone = `SELECT id FROM sessions WHERE ` + old
	const moved = `(games_played > 0 OR EXISTS (SELECT 1 FROM payouts p WHERE p.session_id = sessions.id))`
	return forEach(run, func(in *intent.PurgeSessions) error {
		return t.doAll([]any{schema.Micros(in.Before)},
			`DELETE FROM predictions WHERE session_id IN (`+gone+`)`,
			`DELETE FROM board_last_move_shown_events WHERE session_id IN (`+gone+`)`,
			`DELETE FROM profile_terms_acceptances WHERE session_id IN (`+gone+`)`,
			`DELETE FROM sessions WHERE `+old+` AND NOT `+moved,
			`UPDATE sessions SET token = NULL, trail = x'' WHERE `+old)
	})
}

// sessionsExist checks the sessions of a run, each once: moves and payouts have no foreign key
// that would check every row.
func (t *tx) sessionsExist(kind intent.Kind, sessions []wamble.SessionID) error {
	list, err := json.Marshal(sessions)
	if err != nil {
		return err
	}
	var missing int64
	err = t.scan(`SELECT j.value FROM json_each(?) j WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = j.value) LIMIT 1`, []any{string(list)}, &missing)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		err = schema.Badf("%v: there is no session %d", kind, missing)
	}
	return err
}

func nullable(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

// recordTerms also stores an acceptance without its text: the text is empty until an intent has
// it.
func (t *tx) recordTerms(run []intent.Intent) error {
	return forEach(run, func(in *intent.RecordTermsAcceptance) error {
		err := t.do(`INSERT INTO profile_terms (tos_hash, tos_text) VALUES (?, ?)
			ON CONFLICT (tos_hash) DO UPDATE SET tos_text = excluded.tos_text WHERE tos_text = '' AND excluded.tos_text <> ''`, in.Hash[:], in.Text)
		if err != nil {
			return err
		}
		return t.do(`INSERT INTO profile_terms_acceptances (session_id, profile_name, tos_hash, accepted_at) SELECT ?1, ?2, ?3, ?4 WHERE `+here("?1")+` ON CONFLICT DO NOTHING`,
			int64(in.Session), in.Profile, in.Hash[:], schema.Micros(in.At))
	})
}
