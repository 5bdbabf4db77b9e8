package schema

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"wamble"
	"wamble/internal/store"
)

// People implements store.Queries.
func (q *Queries) People(ctx context.Context, of wamble.PeopleQuery) ([]wamble.Person, error) {
	ask, err := peopleOf(of)
	if err != nil {
		return nil, err
	}
	all, err := readAll(ctx, q, "read people", ask, scanPerson)
	slices.SortStableFunc(all, func(a, b wamble.Person) int { return b.Seen.Compare(a.Seen) })
	return all[:min(len(all), of.Limit)], err
}

func peopleOf(q wamble.PeopleQuery) (Ask, error) {
	if q.Limit < 1 || q.Limit > maxSessions || len(q.Sessions) > maxSessions {
		return Ask{}, Badf("1 to %d people can be read, not %d, of as many sessions", maxSessions, q.Limit)
	}
	players, guests := `p.id IN (SELECT o.player_id FROM sessions o WHERE o.%s)`, `s.%s`
	var which string
	var args []any
	switch {
	case q.Name != "":
		players, guests = `lower(p.handle) LIKE $1 ESCAPE '!'`, `s.id IS NULL`
		args = []any{"%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(strings.ToLower(q.Name)) + "%"}
	case q.Key != nil:
		players, guests = `p.public_key BETWEEN $1 AND $2`, `s.id IS NULL`
		args = []any{q.Key[0][:], q.Key[1][:]}
	case q.Token != nil:
		which, args = `token BETWEEN $1 AND $2`, []any{q.Token[0][:], q.Token[1][:]}
	case q.Board != 0:
		which, args = `id IN (SELECT session_id FROM moves WHERE board_id = $1 UNION SELECT session_id FROM reservations WHERE board_id = $1)`, []any{int64(q.Board)}
	default:
		numbers := make([]string, 0, len(q.Sessions)+1)
		for _, id := range q.Sessions {
			numbers = append(numbers, fmt.Sprint(int64(id)))
		}
		which = `id IN (` + strings.Join(append(numbers, "0"), ",") + `)`
	}
	if which != "" {
		players, guests = fmt.Sprintf(players, which), fmt.Sprintf(guests, which)
	}
	const newest = ` FROM sessions s WHERE s.player_id = p.id ORDER BY s.last_seen_at DESC, s.id DESC LIMIT 1)`
	limit := fmt.Sprintf(" LIMIT %d", q.Limit)
	return Ask{Text: `SELECT p.id, coalesce((SELECT s.id` + newest + `, 0), p.public_key, p.handle, CAST(p.total_score AS float8), CAST(p.rating AS float8), p.games_played,
		p.created_at, coalesce((SELECT s.last_seen_at` + newest + `, p.created_at)
		FROM (SELECT p.id FROM players p WHERE ` + players + ` ORDER BY length(p.handle), p.id` + limit + `) u JOIN players p ON p.id = u.id
		UNION ALL SELECT 0, s.id, NULL, '', CAST(s.total_score AS float8), CAST(0 AS float8), s.games_played, s.created_at, s.last_seen_at
		FROM (SELECT s.id FROM sessions s WHERE s.player_id IS NULL AND ` + guests + ` ORDER BY s.last_seen_at DESC, s.id` + limit + `) u JOIN sessions s ON s.id = u.id`, Args: args, Varies: true}, nil
}

func scanPerson(scan Scan) (p wamble.Person, err error) {
	var key []byte
	err = scan(&p.Player, &p.Session, &key, &p.Handle, &p.Score, &p.Rating, &p.Games, at(&p.Created), at(&p.Seen))
	copy(p.Key[:], key)
	return p, err
}

// checkSessions checks a limit of sessions.
func checkSessions(most int) error {
	if most < 1 || most > maxSessions {
		return Badf("1 to %d sessions can be read, not %d", maxSessions, most)
	}
	return nil
}

// ofKey is the number of the player of a key.
const ofKey = `(SELECT id FROM players WHERE public_key = $1)`

// PredictionsOf implements store.Queries.
func (q *Queries) PredictionsOf(ctx context.Context, key wamble.PublicKey, after wamble.PredictionID,
	most int) ([]wamble.Prediction, error) {
	if err := checkSessions(most); err != nil {
		return nil, err
	}
	return readAll(ctx, q, "read predictions", Ask{Text: `SELECT p.id, p.board_id, p.session_id, coalesce(p.parent_prediction_id, 0), p.predicted_move_uci, p.move_number, 0,
		p.correct_streak, p.status, CAST(p.points_awarded AS float8), p.created_at
		FROM predictions p WHERE p.session_id IN (SELECT s.id FROM sessions s WHERE s.player_id = ` + ofKey + `) AND p.id > $2
		ORDER BY p.id LIMIT $3`, Args: []any{key[:], int64(after), most}}, scanPrediction)
}

// TermsOf implements store.Queries.
func (q *Queries) TermsOf(ctx context.Context, key wamble.PublicKey) ([]wamble.Acceptance, error) {
	return readAll(ctx, q, "read acceptances", Ask{Text: `SELECT a.session_id, a.profile_name, a.tos_hash, a.accepted_at FROM profile_terms_acceptances a
		WHERE a.session_id IN (SELECT s.id FROM sessions s WHERE s.player_id = ` + ofKey + `)
		ORDER BY a.accepted_at DESC, a.session_id, a.profile_name, a.tos_hash LIMIT $2`, Args: []any{key[:], maxSessions}}, scanAcceptance)
}

func scanAcceptance(scan Scan) (a wamble.Acceptance, err error) {
	var hash []byte
	err = scan(&a.Session, &a.Profile, &hash, at(&a.At))
	copy(a.Hash[:], hash)
	return a, err
}

// MergedKeys implements store.Queries.
func (q *Queries) MergedKeys(ctx context.Context, key wamble.PublicKey) ([]wamble.PublicKey, error) {
	return readAll(ctx, q, "read merged keys", Ask{
		Text: `SELECT public_key FROM merged_keys WHERE player_id = ` + ofKey + ` ORDER BY public_key`, Args: []any{key[:]}}, scanKey)
}

// FormerNames implements store.Queries.
func (q *Queries) FormerNames(ctx context.Context, key wamble.PublicKey) ([]wamble.FormerName, error) {
	return readAll(ctx, q, "read former names", Ask{Text: `SELECT name, until_at FROM former_names WHERE player_id = ` + ofKey + `
		ORDER BY until_at DESC, name LIMIT $2`, Args: []any{key[:], maxSessions}}, scanFormerName)
}

func scanFormerName(scan Scan) (n wamble.FormerName, err error) {
	err = scan(&n.Name, at(&n.Until))
	return n, err
}

func scanKey(scan Scan) (key wamble.PublicKey, err error) {
	var found []byte
	err = scan(&found)
	copy(key[:], found)
	return key, err
}

const selectPlayer = `SELECT p.id, p.handle, p.created_at, p.renamed_at, CAST(p.rating AS float8),
	CAST(round(coalesce(sum(s.total_score), 0), 4) AS float8), CAST(round(coalesce(sum(s.total_prediction_score), 0), 4) AS float8),
	coalesce(sum(s.games_played), 0), coalesce(sum(s.chess960_games_played), 0)
	FROM players p LEFT JOIN sessions s ON s.player_id = p.id `

// Player implements store.Queries.
func (q *Queries) Player(ctx context.Context, key wamble.PublicKey) (wamble.Player, error) {
	out, err := readOne(ctx, q, "read player", Ask{Text: selectPlayer + `WHERE p.public_key = $1 GROUP BY p.id`,
		Args: []any{key[:]}}, scanPlayer)
	if errors.Is(err, store.ErrNotFound) {
		into, err := readOne(ctx, q, "read merged key", Ask{
			Text: `SELECT p.public_key FROM merged_keys k JOIN players p ON p.id = k.player_id WHERE k.public_key = $1`,
			Args: []any{key[:]}}, scanKey)
		if err != nil || into == key {
			return wamble.Player{}, cmp.Or(err, store.ErrNotFound)
		}
		return q.Player(ctx, into)
	}
	if err != nil {
		return wamble.Player{}, err
	}
	out.Key = key
	return out, nil
}
