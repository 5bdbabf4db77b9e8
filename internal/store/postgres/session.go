package postgres

import (
	"context"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

func createSessions(_ string, run []intent.Intent) []statement {
	n := len(run)
	ids, tokens, players, at := make([]int64, n), make([][]byte, n), make([]int64, n), make([]time.Time, n)
	for i, in := range schema.As[*intent.CreateSession](run) {
		ids[i], tokens[i], players[i], at[i] = int64(in.Session), in.Token[:], int64(in.Player), in.At
	}
	return []statement{{rows: -1, args: []any{ids, tokens, players, at}, sql: `
		INSERT INTO sessions (id, token, player_id, created_at, last_seen_at, rating)
		SELECT id, token, NULLIF(player, 0), at, at, coalesce((SELECT rating FROM players p WHERE p.id = v.player), 0)
		FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::timestamptz[]) AS v(id, token, player, at)
		ON CONFLICT (id) DO NOTHING`}}
}

// here returns the SQL condition that a session is not erased or purged: nothing is stored for
// those any more. A session that does not exist is refused by foreign keys.
func here(session string) string {
	return `NOT EXISTS (SELECT FROM sessions h WHERE h.id = ` + session + ` AND h.token IS NULL)`
}

// linkSessions creates missing players, then reads their rows under a lock, which serializes it
// with other transactions that create a player or change the rating.
func linkSessions(_ string, run []intent.Intent) []statement {
	n := len(run)
	sessions, keys, players, at := make([]int64, n), make([][]byte, n), make([]int64, n), make([]time.Time, n)
	handles, ratings, distinct := make([]string, n), make([]float64, n), map[wamble.SessionID]bool{}
	for i, in := range schema.As[*intent.LinkSession](run) {
		sessions[i], keys[i], players[i], at[i] = int64(in.Session), in.Key[:], int64(in.Player), in.At
		handles[i], ratings[i] = in.Handle, in.Rating
		distinct[in.Session] = true
	}
	return []statement{
		{rows: -1, args: []any{players, keys, handles, ratings, at, sessions}, sql: `
			INSERT INTO players (id, public_key, handle, rating, created_at)
			SELECT v.player, v.key, v.handle, v.rating, v.at
			FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::float8[], $5::timestamptz[], $6::bigint[]) AS v(player, key, handle, rating, at, session)
			JOIN sessions s ON s.id = v.session AND s.token IS NOT NULL AND (s.identity_at IS NULL OR s.identity_at <= v.at)
			ON CONFLICT (public_key) DO NOTHING`},
		{rows: len(distinct), args: []any{sessions, keys, at}, sql: `
			WITH v AS (SELECT DISTINCT ON (session) * FROM unnest($1::bigint[], $2::bytea[], $3::timestamptz[]) WITH ORDINALITY AS v(session, key, at, n) ORDER BY session, at DESC, n DESC),
			p AS (SELECT id, public_key, rating FROM players WHERE public_key = ANY($2::bytea[]) FOR SHARE)
			UPDATE sessions s SET player_id = p.id, rating = p.rating, identity_at = v.at FROM v JOIN p ON p.public_key = v.key
			WHERE s.id = v.session AND s.token IS NOT NULL AND (s.identity_at IS NULL OR s.identity_at <= v.at)`,
			verify: `SELECT format('LINK_SESSION_TO_PUBKEY: there is no session %s', v.session)
			FROM unnest($1::bigint[], $2::bytea[], $3::timestamptz[]) AS v(session, key, at) WHERE NOT EXISTS (SELECT FROM sessions s WHERE s.id = v.session) LIMIT 1`},
	}
}

func unlinkSessions(_ string, run []intent.Intent) []statement {
	n := len(run)
	ids, at := make([]int64, n), make([]time.Time, n)
	for i, in := range schema.As[*intent.UnlinkSession](run) {
		ids[i], at[i] = int64(in.Session), in.At
	}
	return []statement{{rows: -1, args: []any{ids, at}, sql: `
		UPDATE sessions s SET player_id = NULL, rating = 0, identity_at = v.at
		FROM (SELECT id, max(at) AS at FROM unnest($1::bigint[], $2::timestamptz[]) AS v(id, at) GROUP BY id) v
		WHERE s.id = v.id AND (s.identity_at IS NULL OR s.identity_at <= v.at)`}}
}

// markBots marks sessions; a trigger marks their players.
func markBots(_ string, run []intent.Intent) []statement {
	ids := make([]int64, len(run))
	for i, in := range schema.As[*intent.MarkBot](run) {
		ids[i] = int64(in.Session)
	}
	return []statement{
		mustExist(intent.KindMarkBot, "sessions", "session",
			schema.Distinct(len(ids), func(i int) int64 { return ids[i] })),
		{rows: -1, args: []any{ids}, sql: `UPDATE sessions SET bot = true WHERE id = ANY($1::bigint[]) AND NOT bot`},
	}
}

func renewTokens(_ string, run []intent.Intent) []statement {
	n := len(run)
	ids, tokens, hosts, at := make([]int64, n), make([][]byte, n), make([]string, n), make([]time.Time, n)
	for i, in := range schema.As[*intent.RenewToken](run) {
		ids[i], tokens[i], hosts[i], at[i] = int64(in.Session), in.Token[:], in.Host, in.At
	}
	return []statement{{rows: -1, args: []any{ids, tokens, hosts, at}, sql: `
		UPDATE sessions s SET token = v.token, token_host = NULLIF(v.host, ''), token_at = v.at
		FROM (SELECT DISTINCT ON (id) * FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::timestamptz[]) WITH ORDINALITY AS v(id, token, host, at, n)
			ORDER BY id, at DESC, n DESC) v
		WHERE s.id = v.id AND s.token IS NOT NULL AND (s.token_at IS NULL OR s.token_at <= v.at)`}}
}

// setTrust sets one level after the other: a session may also be one of a key.
func setTrust(_ string, run []intent.Intent) []statement {
	var all []statement
	for _, in := range schema.As[*intent.SetTrust](run) {
		if in.Session == 0 {
			all = append(all, statement{rows: -1, args: []any{in.Key[:], in.Level}, sql: `
				UPDATE sessions SET trust_level = $2 WHERE player_id = (SELECT id FROM players WHERE public_key = $1)`})
			continue
		}
		all = append(all, statement{rows: 1, args: []any{int64(in.Session), in.Level},
			compare: []any{int64(in.Session)}, sql: `UPDATE sessions SET trust_level = $2 WHERE id = $1`,
			verify: `SELECT format('SET_SESSION_TRUST: there is no session %s', $1::bigint) WHERE NOT EXISTS (SELECT FROM sessions WHERE id = $1::bigint)`})
	}
	return all
}

// TrustChanges implements store.Queries. A transaction that was not visible when the mark was
// taken has this number or a higher one, however late it commits.
func (s *Store) TrustChanges(ctx context.Context, since int64) (all []wamble.TrustLevel, mark int64, err error) {
	err = s.read(ctx, "read trust",
		schema.Ask{Text: `SELECT txid_snapshot_xmin(txid_current_snapshot())`, Row: func(scan schema.Scan) error { return scan(&mark) }},
		schema.Ask{Text: `SELECT id, trust_level FROM sessions WHERE trust_change >= $1 ORDER BY trust_change DESC LIMIT 10000`,
			Args: []any{since}, Row: func(scan schema.Scan) error {
				var row wamble.TrustLevel
				err := scan(&row.Session, &row.Level)
				all = append(all, row)
				return err
			}})
	if err != nil {
		return nil, since, err
	}
	return all, mark, nil
}

func revokeSessions(_ string, run []intent.Intent) []statement {
	var all []statement
	for _, in := range schema.As[*intent.RevokeSessions](run) {
		if in.Key.IsZero() {
			all = append(all, statement{rows: -1, args: []any{int64(in.Session), in.At}, sql: `
				UPDATE sessions SET token = NULL, token_host = NULL WHERE id = $1 AND player_id IS NULL AND coalesce(token_at, created_at) <= $2::timestamptz`})
			continue
		}
		all = append(all, statement{rows: -1, args: []any{in.Key[:], int64(in.Session), in.Others, in.At}, sql: `
			UPDATE sessions s SET token = NULL, token_host = NULL FROM players p
			WHERE p.public_key = $1 AND s.player_id = p.id AND (s.id = $2::bigint) <> $3::bool AND coalesce(s.token_at, s.created_at) <= $4::timestamptz`})
	}
	return all
}

func seeSessions(_ string, run []intent.Intent) []statement {
	seen := schema.NewestSeen(run)
	ids, at := make([]int64, len(seen)), make([]time.Time, len(seen))
	for i, in := range seen {
		ids[i], at[i] = int64(in.Session), in.At
	}
	return []statement{{rows: -1, args: []any{ids, at}, sql: `
		UPDATE sessions s SET last_seen_at = v.at FROM unnest($1::bigint[], $2::timestamptz[]) AS v(id, at)
		WHERE s.id = v.id AND s.last_seen_at < v.at`}}
}

// mustExist checks that the rows which a run refers to exist, and locks them against deletion
// until the run is written, like a foreign key does row by row.
func mustExist(kind intent.Kind, table, noun string, ids []int64) statement {
	return statement{rows: len(ids), args: []any{ids},
		sql: `SELECT FROM ` + table + ` WHERE id = ANY($1::bigint[]) ORDER BY id FOR KEY SHARE`,
		verify: `SELECT format('` + kind.String() + `: there is no ` + noun + ` %s', v.id) FROM unnest($1::bigint[]) AS v(id)
		WHERE NOT EXISTS (SELECT FROM ` + table + ` t WHERE t.id = v.id) LIMIT 1`}
}

// purgeSessions skips sessions that hold a board: they are purged when the reservation is gone.
// A purge is rare and may take long.
func purgeSessions(_ string, run []intent.Intent) []statement {
	all := []statement{{rows: -1, sql: `SET LOCAL statement_timeout = 0`}}
	for _, in := range schema.As[*intent.PurgeSessions](run) {
		all = append(all, statement{rows: -1, args: []any{in.Before}, sql: `
			WITH gone AS MATERIALIZED (
				SELECT id, s.games_played > 0 OR EXISTS (SELECT FROM payouts p WHERE p.session_id = s.id) AS moved
				FROM sessions s WHERE player_id IS NULL AND token IS NOT NULL AND last_seen_at < $1::timestamptz
				AND NOT EXISTS (SELECT FROM reservations r WHERE r.session_id = s.id) FOR UPDATE),
			predicted AS (DELETE FROM predictions p USING gone WHERE p.session_id = gone.id),
			shown AS (DELETE FROM board_last_move_shown_events e USING gone WHERE e.session_id = gone.id),
			accepted AS (DELETE FROM profile_terms_acceptances a USING gone WHERE a.session_id = gone.id),
			deleted AS (DELETE FROM sessions s USING gone WHERE s.id = gone.id AND NOT gone.moved)
			UPDATE sessions s SET token = NULL, trail = '' FROM gone WHERE s.id = gone.id AND gone.moved`})
	}
	return all
}

// recordTerms sends each text once, however many sessions accept it. An acceptance is also
// stored without its text: the text is empty until an intent has it.
func recordTerms(_ string, run []intent.Intent) []statement {
	n := len(run)
	sessions, profiles, hashes, times := make([]int64, n), make([]string, n), make([][]byte, n), make([]time.Time, n)
	var revisions [][]byte
	var texts []string
	place := map[[32]byte]int{} // index in texts
	for i, in := range schema.As[*intent.RecordTermsAcceptance](run) {
		sessions[i], profiles[i], hashes[i], times[i] = int64(in.Session), in.Profile, in.Hash[:], in.At
		at, seen := place[in.Hash]
		if !seen {
			at = len(texts)
			place[in.Hash] = at
			revisions, texts = append(revisions, in.Hash[:]), append(texts, "")
		}
		if in.Text != "" {
			texts[at] = in.Text
		}
	}
	return []statement{
		{rows: -1, args: []any{revisions, texts}, sql: `
			INSERT INTO profile_terms AS t (tos_hash, tos_text) SELECT * FROM unnest($1::bytea[], $2::text[])
			ON CONFLICT (tos_hash) DO UPDATE SET tos_text = EXCLUDED.tos_text WHERE t.tos_text = '' AND EXCLUDED.tos_text <> ''`},
		mustExist(intent.KindRecordTermsAcceptance, "sessions", "session",
			schema.Distinct(n, func(i int) int64 { return sessions[i] })),
		{rows: -1, args: []any{sessions, profiles, hashes, times}, sql: `
			INSERT INTO profile_terms_acceptances (session_id, profile_name, tos_hash, accepted_at)
			SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::timestamptz[]) AS v(session, profile, hash, at)
			WHERE ` + here("v.session") + ` ON CONFLICT DO NOTHING`},
	}
}
