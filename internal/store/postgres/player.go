package postgres

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
func recordRatings(_ string, run []intent.Intent) []statement {
	n := len(run)
	boards, sessions, keys := make([]int64, n), make([]int64, n), make([][]byte, n)
	deltas, at := make([]float64, n), make([]time.Time, n)
	for i, in := range schema.As[*intent.RecordRating](run) {
		boards[i], sessions[i], deltas[i], at[i] = int64(in.Board), int64(in.Session), in.Delta, in.At
		if !in.Key.IsZero() {
			keys[i] = in.Key[:]
		}
	}
	return []statement{{rows: -1, args: []any{boards, sessions, keys, deltas, at}, sql: `
		WITH new AS (
			INSERT INTO rating_changes (board_id, player_id, delta, created_at)
			SELECT v.board, p.id, v.delta, v.at
			FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::float8[], $5::timestamptz[]) AS v(board, session, key, delta, at)
			LEFT JOIN sessions s ON v.key IS NULL AND s.id = v.session
			JOIN players p ON p.id = CASE WHEN v.key IS NULL THEN s.player_id ELSE (SELECT k.id FROM players k WHERE k.public_key = v.key) END
			ON CONFLICT DO NOTHING RETURNING player_id, delta)
		UPDATE players p SET rating = p.rating + d.delta FROM (SELECT player_id, sum(delta) AS delta FROM new GROUP BY player_id) d WHERE p.id = d.player_id`}}
}

// setNames skips a name that another player has: another process on the database may have
// assigned it.
func setNames(_ string, run []intent.Intent) []statement {
	var all []statement
	for _, in := range schema.As[*intent.SetName](run) {
		all = append(all, statement{rows: -1, args: []any{in.Key[:], in.Name, in.At}, sql: `
			UPDATE players SET handle = $2, renamed_at = $3 WHERE public_key = $1 AND (renamed_at IS NULL OR renamed_at <= $3)
			AND NOT EXISTS (SELECT FROM players o WHERE lower(o.handle) = lower($2) AND o.public_key <> $1)`})
	}
	return all
}

// erasePlayers skips an identity that is not the one of the order: its number differs, or it
// was created later. The sessions keep their rows, without a token, because games refer to them
// and later intents must find that they are gone.
func erasePlayers(_ string, run []intent.Intent) []statement {
	n := len(run)
	keys, at, ids := make([][]byte, n), make([]time.Time, n), make([]int64, n)
	for i, in := range schema.As[*intent.ErasePlayer](run) {
		keys[i], at[i], ids[i] = in.Key[:], in.At, int64(in.Player)
	}
	const whom = `p.public_key = v.key AND CASE v.player WHEN 0 THEN p.created_at <= v.at ELSE p.id = v.player END`
	return []statement{
		{rows: -1, args: []any{keys, at, ids}, sql: `
			WITH gone AS MATERIALIZED (
				SELECT s.id, v.at FROM unnest($1::bytea[], $2::timestamptz[], $3::bigint[]) AS v(key, at, player) JOIN players p ON ` + whom + `
				JOIN sessions s ON s.player_id = p.id FOR UPDATE OF s),
			predicted AS (DELETE FROM predictions p USING gone WHERE p.session_id = gone.id),
			shown AS (DELETE FROM board_last_move_shown_events e USING gone WHERE e.session_id = gone.id),
			accepted AS (DELETE FROM profile_terms_acceptances a USING gone WHERE a.session_id = gone.id),
			held AS (DELETE FROM reservations r USING gone WHERE r.session_id = gone.id)
			UPDATE sessions s SET token = NULL, token_host = NULL, player_id = NULL, rating = 0, trail = '', identity_at = greatest(s.identity_at, gone.at)
			FROM gone WHERE s.id = gone.id`},
		{rows: -1, args: []any{keys, at, ids}, sql: `
			DELETE FROM players p USING unnest($1::bytea[], $2::timestamptz[], $3::bigint[]) AS v(key, at, player) WHERE ` + whom},
	}
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
	b := s.begin()
	b.Queue(`INSERT INTO players (id, public_key, handle, rating, created_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (public_key) DO NOTHING`,
		ids[0].First, first.Key[:], first.Handle, first.Stats.Rating, first.Created)
	b.Queue("COMMIT")
	if err := s.send(ctx, b); err != nil {
		return wamble.Player{}, classify(ctx, "enrol a player", err)
	}
	return s.Player(ctx, first.Key)
}

// Claim implements store.Store. Of two transactions that claim a name at once, the unique index
// of names refuses one.
func (s *Store) Claim(ctx context.Context, key wamble.PublicKey, name string, at, since time.Time) (wamble.Player,
	error) {
	b := s.begin()
	b.Queue(`UPDATE players SET handle = $2, renamed_at = $3 WHERE public_key = $1 AND handle <> $2 AND (renamed_at IS NULL OR renamed_at <= $4)
		AND NOT EXISTS (SELECT FROM players o WHERE lower(o.handle) = lower($2) AND o.public_key <> $1)`, key[:], name, at, since)
	b.Queue("COMMIT")
	err := s.send(ctx, b)
	if err != nil && !isDuplicate(err) {
		return wamble.Player{}, classify(ctx, "claim a name", err)
	}
	return s.Player(ctx, key)
}

// mergePlayers first locks both players, in the order of their numbers. If one is missing,
// both_of is empty and nothing changes.
func mergePlayers(_ string, run []intent.Intent) []statement {
	const both = `WITH both_of AS (SELECT f.id AS "from", i.id AS "into", i.rating FROM players f JOIN players i ON i.public_key = $2::bytea
		WHERE f.public_key = $1::bytea AND f.created_at <= $3::timestamptz) `
	var all []statement
	for _, in := range schema.As[*intent.MergePlayers](run) {
		args := []any{in.From[:], in.Into[:], in.At}
		for _, text := range []string{
			`SELECT FROM players WHERE public_key IN ($1::bytea, $2::bytea) AND $3::timestamptz IS NOT NULL ORDER BY id FOR UPDATE`,
			both + `UPDATE players i SET rating = (i.rating * i.games_played + f.rating * f.games_played) / (i.games_played + f.games_played)
				FROM both_of b JOIN players f ON f.id = b.from WHERE i.id = b.into AND i.games_played + f.games_played > 0`,
			both + `INSERT INTO rating_changes (board_id, player_id, delta, created_at) SELECT r.board_id, b.into, r.delta, r.created_at
				FROM rating_changes r JOIN both_of b ON r.player_id = b.from ON CONFLICT (board_id, player_id) DO UPDATE SET delta = rating_changes.delta + excluded.delta`,
			both + `INSERT INTO season_scores (who, season, score, games) SELECT b.into, r.season, r.score, r.games
				FROM season_scores r JOIN both_of b ON r.who = b.from
				ON CONFLICT (who, season) DO UPDATE SET score = season_scores.score + excluded.score, games = season_scores.games + excluded.games`,
			both + `UPDATE sessions s SET player_id = b.into, rating = b.rating, identity_at = greatest(s.identity_at, $3::timestamptz) FROM both_of b WHERE s.player_id = b.from`,
			both + `UPDATE merged_keys k SET player_id = b.into FROM both_of b WHERE k.player_id = b.from`,
			both + `INSERT INTO merged_keys (public_key, player_id) SELECT $1::bytea, b.into FROM both_of b ON CONFLICT (public_key) DO UPDATE SET player_id = excluded.player_id`,
			both + `INSERT INTO former_names (player_id, until_at, name) SELECT b.into, n.until_at, n.name FROM former_names n JOIN both_of b ON n.player_id = b.from
				UNION SELECT b.into, $3::timestamptz, f.handle FROM players f JOIN both_of b ON f.id = b.from ON CONFLICT DO NOTHING`,
			both + `DELETE FROM players p USING both_of b WHERE p.id = b.from`,
		} {
			all = append(all, statement{rows: -1, args: args, sql: text})
		}
	}
	return all
}
