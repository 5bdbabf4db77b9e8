package sqlite

import (
	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

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
