package schema

import (
	"fmt"
	"slices"
	"strings"

	"wamble"
)

// Of is a query for both stores with its arguments.
type Of struct {
	Text string
	Args []any
}

// PeopleOf returns the query of store.Queries.People.
func PeopleOf(q wamble.PeopleQuery) (Of, error) {
	if q.Limit < 1 || q.Limit > maxSessions || len(q.Sessions) > maxSessions {
		return Of{}, Badf("1 to %d people can be read, not %d, of as many sessions", maxSessions, q.Limit)
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
	return Of{`SELECT p.id, coalesce((SELECT s.id` + newest + `, 0), p.public_key, p.handle, CAST(p.total_score AS float8), CAST(p.rating AS float8), p.games_played,
		p.created_at, coalesce((SELECT s.last_seen_at` + newest + `, p.created_at)
		FROM (SELECT p.id FROM players p WHERE ` + players + ` ORDER BY length(p.handle), p.id` + limit + `) u JOIN players p ON p.id = u.id
		UNION ALL SELECT 0, s.id, NULL, '', CAST(s.total_score AS float8), CAST(0 AS float8), s.games_played, s.created_at, s.last_seen_at
		FROM (SELECT s.id FROM sessions s WHERE s.player_id IS NULL AND ` + guests + ` ORDER BY s.last_seen_at DESC, s.id` + limit + `) u JOIN sessions s ON s.id = u.id`, args}, nil
}

// ScanPerson reads a row of PeopleOf.
func ScanPerson(scan Scan) (p wamble.Person, err error) {
	var key []byte
	err = scan(&p.Player, &p.Session, &key, &p.Handle, &p.Score, &p.Rating, &p.Games, at(&p.Created), at(&p.Seen))
	copy(p.Key[:], key)
	return p, err
}

// NewestPeople sorts people by when they were last seen, the newest first, and returns at most
// q.Limit.
func NewestPeople(q wamble.PeopleQuery, all []wamble.Person) []wamble.Person {
	slices.SortStableFunc(all, func(a, b wamble.Person) int { return b.Seen.Compare(a.Seen) })
	return all[:min(len(all), q.Limit)]
}

// PredictionsOf returns the query of store.Queries.PredictionsOf.
func PredictionsOf(key wamble.PublicKey, after wamble.PredictionID, most int) (Of, error) {
	return Of{fmt.Sprintf(`SELECT p.id, p.board_id, p.session_id, coalesce(p.parent_prediction_id, 0), p.predicted_move_uci, p.move_number, 0,
		p.correct_streak, p.status, CAST(p.points_awarded AS float8), p.created_at
		FROM predictions p WHERE p.session_id IN (SELECT s.id FROM sessions s WHERE s.player_id = (SELECT id FROM players WHERE public_key = $1)) AND p.id > $2
		ORDER BY p.id LIMIT %d`, most), []any{key[:], int64(after)}}, CheckSessions(most)
}

// TermsOf returns the query of store.Queries.TermsOf.
func TermsOf(key wamble.PublicKey) Of {
	return Of{fmt.Sprintf(`SELECT a.session_id, a.profile_name, a.tos_hash, a.accepted_at FROM profile_terms_acceptances a
		WHERE a.session_id IN (SELECT s.id FROM sessions s WHERE s.player_id = (SELECT id FROM players WHERE public_key = $1))
		ORDER BY a.accepted_at DESC, a.session_id, a.profile_name, a.tos_hash LIMIT %d`, maxSessions), []any{key[:]}}
}

// ScanAcceptance reads a row of TermsOf.
func ScanAcceptance(scan Scan) (a wamble.Acceptance, err error) {
	var hash []byte
	err = scan(&a.Session, &a.Profile, &hash, at(&a.At))
	copy(a.Hash[:], hash)
	return a, err
}

// MergedKeysOf returns the query of store.Queries.MergedKeys.
func MergedKeysOf(key wamble.PublicKey) Of {
	return Of{`SELECT public_key FROM merged_keys WHERE player_id = (SELECT id FROM players WHERE public_key = $1) ORDER BY public_key`, []any{key[:]}}
}

// FormerNamesOf returns the query of store.Queries.FormerNames.
func FormerNamesOf(key wamble.PublicKey) Of {
	return Of{fmt.Sprintf(`SELECT name, until_at FROM former_names WHERE player_id = (SELECT id FROM players WHERE public_key = $1)
		ORDER BY until_at DESC, name LIMIT %d`, maxSessions), []any{key[:]}}
}

// ScanFormerName reads a row of FormerNamesOf.
func ScanFormerName(scan Scan) (n wamble.FormerName, err error) {
	err = scan(&n.Name, at(&n.Until))
	return n, err
}

// ScanKey reads a key.
func ScanKey(scan Scan) (key wamble.PublicKey, err error) {
	var found []byte
	err = scan(&found)
	copy(key[:], found)
	return key, err
}
