package importer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"wamble"
	"wamble/internal/store/postgres"
	"wamble/internal/store/schema"
)

// Source is a database of the original, and the global database if it has one.
type Source struct {
	State string // the original's migrations that it has, for people
	has   map[string]bool
	now   time.Time // when the transaction began
	games pgx.Tx
	names map[wamble.PublicKey]string
	trust map[wamble.PublicKey]int
	// Policy are lines for the configuration: what the original kept in the global database by hand, and
	// ours keeps in the file.
	Policy []string
	ids    [4][]int64 // the numbers of its rows in order, by wamble.Sequence; not those of players
	close  []func()
}

// NoGlobal is given for the global database by a host who does without names, tags and trust.
const NoGlobal = "none"

// Open connects to the databases of libpq's connection strings and reads what the import needs at hand:
// numbers and names. Close ends the transactions.
func Open(ctx context.Context, from, global string) (*Source, error) {
	s := &Source{has: map[string]bool{}, names: map[wamble.PublicKey]string{}, trust: map[wamble.PublicKey]int{}}
	if err := s.open(ctx, from, global); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Source) open(ctx context.Context, from, global string) (err error) {
	if s.games, err = s.begin(ctx, from); err != nil {
		return err
	}
	var columns []string
	if err := s.games.QueryRow(ctx, `SELECT now(), (`+postgres.SelectColumns+`)`).Scan(&s.now, &columns); err != nil {
		return err
	}
	for _, c := range columns {
		s.has[c] = true
	}
	switch o := postgres.FromOriginal(columns); {
	case o == nil, o.Foreign:
		return fmt.Errorf("%s is no database of the original Wamble: it has no sessions, boards and moves", from)
	case s.has["move_runs.moves"]:
		return fmt.Errorf("%s is a database of this Wamble, not of the original", from)
	default:
		s.State = describe(o)
	}
	switch own := s.has["global_identities.id"]; {
	case global == "" && s.has["sessions.global_identity_id"] && !own:
		return fmt.Errorf("this database of the original has its names, tags and trust in a global database: "+
			"name that with --global \"host=… dbname=…\"; --global %s leaves them behind", NoGlobal)
	case global != "" && global != NoGlobal || own:
		tx := s.games
		if !own {
			if tx, err = s.begin(ctx, global); err != nil {
				return err
			}
		}
		if err := s.readGlobal(ctx, tx); err != nil {
			return fmt.Errorf("the global database: %w", err)
		}
	}
	for _, seq := range wamble.Sequences() {
		if seq == wamble.PlayerIDs || !s.has[seq.String()+".id"] {
			continue
		}
		rows, err := s.games.Query(ctx, `SELECT id FROM `+seq.String()+` ORDER BY id`)
		if err != nil {
			return err
		}
		if s.ids[seq], err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil {
			return err
		}
	}
	return nil
}

func describe(o *schema.Original) string {
	switch {
	case o.Steps != nil:
		return "migrations 001, " + strings.Join(o.Steps, ", ")
	case o.Lacking != nil:
		return "before migration 001"
	}
	return "migration 001"
}

// begin connects and begins a transaction that cannot write and sees one state of the database.
func (s *Source) begin(ctx context.Context, dsn string) (pgx.Tx, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("connect to the original's database: %w", err)
	}
	s.close = append(s.close, func() { conn.Close(context.WithoutCancel(ctx)) })
	return conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
}

// Close ends the transactions.
func (s *Source) Close() {
	for _, end := range s.close {
		end()
	}
}

// readGlobal reads names, tags and trust of identities with a key. Rules that came from the configuration
// file of the original come to ours with that file.
func (s *Source) readGlobal(ctx context.Context, tx pgx.Tx) error {
	var columns []string
	if err := tx.QueryRow(ctx, postgres.SelectColumns).Scan(&columns); err != nil {
		return err
	}
	if !slices.Contains(columns, "global_identities.public_key") {
		return fmt.Errorf("it has no table global_identities")
	}
	if slices.Contains(columns, "global_identity_handles.handle") {
		err := each(ctx, tx, `SELECT i.public_key, h.handle FROM global_identity_handles h JOIN global_identities i ON i.id = h.global_identity_id
			WHERE i.public_key IS NOT NULL`, nil, func(rows pgx.Rows) error {
			var key []byte
			var name string
			err := rows.Scan(&key, &name)
			s.names[keyOf(key)] = name
			return err
		})
		if err != nil {
			return err
		}
	}
	if slices.Contains(columns, "global_identity_tags.tag") {
		err := each(ctx, tx, `SELECT 'pubkey:' || encode(i.public_key, 'hex'), t.tag FROM global_identity_tags t
			JOIN global_identities i ON i.id = t.global_identity_id WHERE i.public_key IS NOT NULL ORDER BY 1, 2`, nil, func(rows pgx.Rows) error {
			var who, tag string
			err := rows.Scan(&who, &tag)
			s.Policy = append(s.Policy, fmt.Sprintf("(policy-tag %s %s)", quote(who), quote(tag)))
			return err
		})
		if err != nil {
			return err
		}
	}
	if !slices.Contains(columns, "global_policy_rules.source") {
		return nil
	}
	return each(ctx, tx, `SELECT coalesce('pubkey:' || encode(i.public_key, 'hex'), CASE r.global_identity_id WHEN 0 THEN '*' ELSE 'id:' || r.global_identity_id END), i.public_key,
		r.action, r.scope, r.resource, r.effect, r.permission_level, coalesce(r.reason, ''), coalesce(r.policy_version, 'v1'),
		coalesce(extract(epoch FROM r.not_before_at)::bigint, 0), coalesce(extract(epoch FROM r.not_after_at)::bigint, 0), coalesce(r.context_key, ''), coalesce(r.context_value, '')
		FROM global_policy_rules r LEFT JOIN global_identities i ON i.id = r.global_identity_id WHERE r.source = 'manual' ORDER BY r.id`, nil, s.readRule)
}

// readRule makes the trust in an identity a fact of its sessions, and any other rule a line for the
// configuration. An identity without a key has no name in ours: its rule becomes a comment.
func (s *Source) readRule(rows pgx.Rows) error {
	var who, action, scope, resource, effect, reason, version, contextKey, contextValue string
	var key []byte
	var level int
	var before, after int64
	err := rows.Scan(&who, &key, &action, &scope, &resource, &effect, &level, &reason, &version, &before, &after, &contextKey, &contextValue)
	if err != nil {
		return err
	}
	if key != nil && action == "trust.tier" && scope == "*" && effect == "allow" && before == 0 && after == 0 {
		s.trust[keyOf(key)] = max(s.trust[keyOf(key)], level)
		return nil
	}
	if action == "trust.tier" {
		resource = scope
	} else if scope != "*" {
		resource = scope + "::" + resource
	}
	line := fmt.Sprintf("(policy-%s %s %s %s", effect, quote(who), quote(action), quote(resource))
	if effect == "allow" {
		line += fmt.Sprintf(" %d", level)
	}
	line += fmt.Sprintf(" %s %s %d %d", quote(reason), quote(version), before, after)
	if contextKey != "" {
		line += fmt.Sprintf(" %s %s", quote(contextKey), quote(contextValue))
	}
	if strings.HasPrefix(who, "id:") {
		line = "; an identity without a key: " + line
	}
	s.Policy = append(s.Policy, line+")")
	return nil
}

// quote returns a text as a string of the configuration, which has no quotes within.
func quote(text string) string { return `"` + strings.ReplaceAll(text, `"`, `'`) + `"` }

func keyOf(key []byte) (k wamble.PublicKey) {
	copy(k[:], key)
	return k
}

// each calls f for each row.
func each(ctx context.Context, tx pgx.Tx, sql string, args []any, f func(pgx.Rows) error) error {
	if sql == "" {
		return nil
	}
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
