package postgres

import (
	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

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
