package backup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"wamble/internal/store/schema"
)

// Moved describes a finished move of a store.
type Moved struct {
	Tables map[string]schema.TableSum
	Games  string // the result of replaying them
}

// movable is a store that a move copies to, or from.
type movable interface {
	MoveSide() schema.MoveSide
	Status(ctx context.Context) (schema.Status, error)
	Migrate(ctx context.Context, progress schema.Progress) error
}

// ErrNotEmpty is returned when a store into which another one is to be moved has rows.
var ErrNotEmpty = errors.New("it is not empty")

// ErrMoved is returned when a store has been moved into another one already.
var ErrMoved = errors.New("it was moved there already")

// pageRows is how many rows a move copies in a transaction.
const pageRows = 500

// Move copies a store, of which nothing is changed, into one of the other kind, which must be empty or hold what
// an interrupted Move of the same store has copied. No server may run on either. At the end all rows are compared,
// and all games replayed; until then no server starts with the target. Errors: ErrNotEmpty, ErrMoved.
func Move(ctx context.Context, source, target *Store, progress func(Progress)) (Moved, error) {
	m, err := beginMove(ctx, source, target, progress)
	if err != nil {
		return Moved{}, err
	}
	// Copy all tables.
	for _, t := range m.tables {
		if err := m.copy(ctx, t); err != nil {
			return Moved{}, err
		}
	}
	// Compare both databases, and replay the games of the copy.
	done := Moved{Tables: map[string]schema.TableSum{}}
	for _, t := range m.tables {
		want, err := m.sum(ctx, m.from, t)
		if err != nil {
			return done, err
		}
		got, err := m.sum(ctx, m.to, t)
		if err != nil {
			return done, err
		}
		if !got.Equal(&want) {
			return done, fmt.Errorf("the table %s has %d rows in %s and %d in %s, and they differ: nothing may write there meanwhile. Give the command again",
				t.Name, want.Rows, source.Name, got.Rows, target.Name)
		}
		done.Tables[t.Name] = got
	}
	progress(Progress{What: "games"})
	games := target.checkGames(ctx)
	if games.Bad() {
		if before := source.checkGames(ctx); before.Text != games.Text {
			return done, fmt.Errorf("%s: %s, and in %s: %s. Give the command again", target.Name, games.Text, source.Name, before.Text)
		}
		games.Text += " (as in " + source.Name + ")"
	}
	done.Games = games.Text
	// The source must be as it was.
	now, err := m.from.Cursors(ctx)
	if err == nil && !maps.Equal(now, m.origin.Cursors) {
		err = fmt.Errorf("a server has written into %s meanwhile: stop it, and give the command again", source.Name)
	}
	var next map[string]int64
	if err == nil {
		next, err = m.from.Numbers(ctx)
	}
	if err == nil {
		err = m.to.EndMove(ctx, next, m.origin.Made)
	}
	return done, err
}

// move is a move that is under way.
type move struct {
	from, to schema.MoveSide
	origin   schema.MoveOrigin
	state    map[string]string // by table, as the target has it
	tables   []*schema.TableMove
	progress func(Progress)
}

// beginMove checks both stores, and begins a move or goes on with one.
func beginMove(ctx context.Context, source, target *Store, progress func(Progress)) (*move, error) {
	from, ok := source.Store.(movable)
	to, ok2 := target.Store.(movable)
	if !ok || !ok2 {
		return nil, errors.New("these stores cannot be moved")
	}
	m := &move{from: from.MoveSide(), to: to.MoveSide(), progress: progress}
	if m.from.Dialect == m.to.Dialect {
		return nil, fmt.Errorf("%s and %s are of one kind: a move is between SQLite and PostgreSQL", source.Name, target.Name)
	}
	st, err := from.Status(ctx)
	if err == nil {
		err = st.Refused()
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", source.Name, err)
	case st.Version == 0:
		return nil, fmt.Errorf("%s is empty: there is nothing to move", source.Name)
	case st.Version != st.Latest:
		return nil, fmt.Errorf("%s has schema %d, and this binary knows %d: give 'wamble migrate' with the configuration of before",
			source.Name, st.Version, st.Latest)
	}
	m.origin = schema.MoveOrigin{Name: source.Name, Made: st.Made}
	if m.origin.Cursors, err = m.from.Cursors(ctx); err != nil {
		return nil, err
	}
	if err := m.prepare(ctx, to, target.Name); err != nil {
		return nil, fmt.Errorf("%s: %w", target.Name, err)
	}
	for _, of := range schema.MovedTables {
		t, err := schema.Together(ctx, m.from, m.to, of)
		if err != nil {
			return nil, err
		}
		m.tables = append(m.tables, t)
	}
	return m, nil
}

// prepare makes the target's tables, or reads how far an interrupted move is.
func (m *move) prepare(ctx context.Context, to movable, name string) error {
	st, err := to.Status(ctx)
	if err != nil {
		return err
	}
	begun, state, err := m.to.MoveState(ctx)
	switch {
	case err != nil:
		return err
	case begun == nil:
		filled, err := m.to.Filled(ctx)
		if err != nil {
			return err
		}
		if filled != "" && st.Made.Equal(m.origin.Made) {
			if at, err := m.to.Cursors(ctx); err != nil || maps.Equal(at, m.origin.Cursors) {
				return cmp.Or(err, ErrMoved)
			}
			return fmt.Errorf("%w: it has these games as they were at another time. Move it away if they are the older ones", ErrNotEmpty)
		}
		if filled != "" {
			return fmt.Errorf("%w: its table %s has rows. A move needs a database without games", ErrNotEmpty, filled)
		}
		if err := to.Migrate(ctx, nil); err != nil {
			return err
		}
	case !begun.Made.Equal(m.origin.Made):
		return fmt.Errorf("%w: a move of %s into it was begun, and this one is of %s. End that one first, or delete the database",
			ErrNotEmpty, begun.Name, m.origin.Name)
	case st.Version != st.Latest:
		return fmt.Errorf("the move into it was begun by a wamble with schema %d, and this one has %d: delete the database, and begin anew",
			st.Version, st.Latest)
	case maps.Equal(begun.Cursors, m.origin.Cursors):
		m.state = state
		m.progress(Progress{What: "going on with the move that was interrupted"})
		return nil
	default:
		m.progress(Progress{What: "beginning anew: a server has written into the source since the move was interrupted"})
	}
	return m.to.BeginMove(ctx, m.origin)
}

// tableState is how far the copy of a table is.
type tableState struct {
	After []keyValue // the last row that was copied, or linked; nil if none was
	Rows  int64      // copied
	Links bool       // all rows are copied, the links follow
	Done  bool
}

// keyValue is a part of a key; one field is set.
type keyValue struct {
	Number *int64  `json:",omitempty"`
	Text   *string `json:",omitempty"`
	Bytes  []byte  `json:",omitempty"`
}

func keyValues(key []any) (all []keyValue) {
	for _, v := range key {
		switch v := v.(type) {
		case int64:
			all = append(all, keyValue{Number: &v})
		case string:
			all = append(all, keyValue{Text: &v})
		case []byte:
			all = append(all, keyValue{Bytes: v})
		}
	}
	return all
}

func (s *tableState) key() (key []any) {
	for _, v := range s.After {
		switch {
		case v.Number != nil:
			key = append(key, *v.Number)
		case v.Text != nil:
			key = append(key, *v.Text)
		default:
			key = append(key, v.Bytes)
		}
	}
	return key
}

// copy copies the rows of a table which the target lacks: first all without their links, then the links.
func (m *move) copy(ctx context.Context, t *schema.TableMove) error {
	var state tableState
	if text := m.state[t.Name]; text != "" {
		if err := json.Unmarshal([]byte(text), &state); err != nil {
			return fmt.Errorf("how far the table %s is: %w", t.Name, err)
		}
	}
	all, _ := m.from.Count(ctx, t.Name) // for the progress alone
	for !state.Done {
		rows, err := m.from.Page(ctx, t, state.key(), pageRows, state.Links)
		if err != nil {
			return err
		}
		linked, last := state.Links, len(rows) < pageRows
		if len(rows) > 0 {
			state.After = keyValues(t.KeyOf(rows[len(rows)-1]))
		}
		if !linked {
			state.Rows += int64(len(rows))
		}
		switch {
		case last && (linked || t.Link == ""):
			state.Done = true
		case last:
			state.Links, state.After = true, nil
		}
		text, err := json.Marshal(state)
		if err != nil {
			return err
		}
		if linked {
			err = m.to.PutLinks(ctx, t, rows, string(text))
		} else {
			err = m.to.Put(ctx, t, rows, string(text))
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", t.Name, err)
		}
		m.progress(Progress{t.Name, state.Rows, all})
	}
	return nil
}

// sum reads all rows of a table.
func (m *move) sum(ctx context.Context, side schema.MoveSide, t *schema.TableMove) (sum schema.TableSum, err error) {
	all, _ := side.Count(ctx, t.Name) // for the progress alone
	var after []any
	for {
		rows, err := side.Page(ctx, t, after, pageRows, false)
		if err != nil {
			return sum, err
		}
		for _, row := range rows {
			sum.Add(t, row)
		}
		if len(rows) < pageRows {
			return sum, nil
		}
		after = t.KeyOf(rows[len(rows)-1])
		m.progress(Progress{"comparing " + t.Name, sum.Rows, all})
	}
}
