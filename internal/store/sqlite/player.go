package sqlite

import (
	"context"
	"errors"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store"
	"wamble/internal/store/schema"
)

// recordRatings changes a rating only together with a new row of rating_changes. Players that
// are gone are skipped.
func (t *tx) recordRatings(run []intent.Intent) error {
	return forEach(run, func(in *intent.RecordRating) error {
		whom, who := `public_key = ?`, any(in.Key[:])
		if in.Key.IsZero() {
			whom, who = `id = (SELECT player_id FROM sessions WHERE id = ?)`, int64(in.Session)
		}
		n, err := t.exec(`INSERT INTO rating_changes (board_id, player_id, delta, created_at)
			SELECT ?, id, round(?, 4), ? FROM players WHERE `+whom+` ON CONFLICT DO NOTHING`,
			int64(in.Board), in.Delta, schema.Micros(in.At), who)
		if err != nil || n == 0 {
			return err
		}
		return t.do(`UPDATE players SET rating = round(rating + round(?, 4), 4) WHERE `+whom, in.Delta, who)
	})
}

// setNames skips a name that another player has.
func (t *tx) setNames(run []intent.Intent) error {
	return forEach(run, func(in *intent.SetName) error {
		return t.do(`UPDATE players SET handle = ?1, renamed_at = ?2 WHERE public_key = ?3 AND ifnull(renamed_at, 0) <= ?2
			AND NOT EXISTS (SELECT 1 FROM players o WHERE o.handle = ?1 COLLATE NOCASE AND o.public_key <> ?3)`, in.Name, schema.Micros(in.At), in.Key[:])
	})
}

// erasePlayers skips an identity that is not the one of the order: its number differs, or it
// was created later. The sessions keep their rows, without a token, because games refer to them
// and later intents must find that they are gone.
func (t *tx) erasePlayers(run []intent.Intent) error {
	const whom = `(SELECT id FROM players WHERE public_key = ?2 AND CASE ?3 WHEN 0 THEN created_at <= ?1 ELSE id = ?3 END)`
	const gone = `(SELECT id FROM sessions WHERE player_id = ` + whom + `)`
	return forEach(run, func(in *intent.ErasePlayer) error {
		return t.doAll([]any{schema.Micros(in.At), in.Key[:], int64(in.Player)},
			`DELETE FROM predictions WHERE session_id IN `+gone,
			`DELETE FROM board_last_move_shown_events WHERE session_id IN `+gone,
			`DELETE FROM profile_terms_acceptances WHERE session_id IN `+gone,
			`DELETE FROM reservations WHERE session_id IN `+gone,
			`UPDATE sessions SET token = NULL, token_host = NULL, player_id = NULL, rating = 0, trail = x'', identity_at = max(ifnull(identity_at, 0), ?1)
				WHERE player_id = `+whom,
			`DELETE FROM players WHERE id = `+whom)
	})
}

// Enrol implements store.Store.
func (s *Store) Enrol(ctx context.Context, first wamble.Player) (wamble.Player, error) {
	known, err := s.Player(ctx, first.Key)
	if !errors.Is(err, store.ErrNotFound) {
		return known, err
	}
	ids, err := s.Lease(ctx, wamble.PlayerIDs, 1)
	if err != nil {
		return wamble.Player{}, err
	}
	err = s.writer.transact(ctx, func(t *tx) error {
		return t.do(`INSERT INTO players (id, public_key, handle, rating, created_at) VALUES (?, ?, ?, round(?, 4), ?) ON CONFLICT (public_key) DO NOTHING`,
			ids[0].First, first.Key[:], first.Handle, first.Stats.Rating, schema.Micros(first.Created))
	})
	if err != nil {
		return wamble.Player{}, classify(ctx, "enrol a player", err)
	}
	return s.Player(ctx, first.Key)
}

// Claim implements store.Store.
func (s *Store) Claim(ctx context.Context, key wamble.PublicKey, name string, at, since time.Time) (wamble.Player,
	error) {
	err := s.writer.transact(ctx, func(t *tx) error {
		return t.do(`UPDATE players SET handle = ?1, renamed_at = ?2 WHERE public_key = ?3 AND handle <> ?1 AND (renamed_at IS NULL OR renamed_at <= ?4)
			AND NOT EXISTS (SELECT 1 FROM players o WHERE o.handle = ?1 COLLATE NOCASE AND o.public_key <> ?3)`, name, schema.Micros(at), key[:], schema.Micros(since))
	})
	if err != nil {
		return wamble.Player{}, classify(ctx, "claim a name", err)
	}
	return s.Player(ctx, key)
}

func (t *tx) mergePlayers(run []intent.Intent) error {
	const from, into = `(SELECT id FROM players WHERE public_key = ?1)`,
		`(SELECT id FROM players WHERE public_key = ?2)`
	return forEach(run, func(in *intent.MergePlayers) error {
		args := []any{in.From[:], in.Into[:], schema.Micros(in.At)}
		both, err := t.exists(`SELECT 1 FROM players f JOIN players i ON i.public_key = ?2 WHERE f.public_key = ?1 AND f.created_at <= ?3`, args...)
		if err != nil || !both {
			return err
		}
		return t.doAll(args,
			`UPDATE players SET rating = round((players.rating * players.games_played + f.rating * f.games_played) / (players.games_played + f.games_played), 4)
				FROM players f WHERE f.public_key = ?1 AND players.public_key = ?2 AND players.games_played + f.games_played > 0 AND ?3 > 0`,
			`INSERT INTO rating_changes (board_id, player_id, delta, created_at) SELECT board_id, `+into+`, delta, created_at FROM rating_changes
				WHERE player_id = `+from+` AND ?3 > 0 ON CONFLICT (board_id, player_id) DO UPDATE SET delta = round(rating_changes.delta + excluded.delta, 4)`,
			`INSERT INTO season_scores (who, season, score, games) SELECT `+into+`, season, score, games FROM season_scores WHERE who = `+from+` AND ?3 > 0
				ON CONFLICT (who, season) DO UPDATE SET score = round(season_scores.score + excluded.score, 4), games = season_scores.games + excluded.games`,
			`UPDATE sessions SET player_id = `+into+`, rating = (SELECT rating FROM players WHERE public_key = ?2), identity_at = max(ifnull(identity_at, 0), ?3)
				WHERE player_id = `+from,
			`UPDATE merged_keys SET player_id = `+into+` WHERE player_id = `+from+` AND ?3 > 0`,
			`INSERT INTO merged_keys (public_key, player_id) SELECT ?1, `+into+
				` WHERE ?3 > 0 ON CONFLICT (public_key) DO UPDATE SET player_id = excluded.player_id`,
			`INSERT INTO former_names (player_id, until_at, name) SELECT `+into+`, until_at, name FROM former_names WHERE player_id = `+from+` AND ?3 > 0
				UNION SELECT `+into+`, ?3, handle FROM players WHERE public_key = ?1 ON CONFLICT DO NOTHING`,
			`DELETE FROM players WHERE public_key = ?1 AND ?2 <> ?1 AND ?3 > 0`)
	})
}
