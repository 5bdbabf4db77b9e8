package importer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store"
)

// Options say where the rows of a source go.
type Options struct {
	To       store.Store // with the newest schema, and without a server; nil only counts
	Profile  string      // gets the boards
	Rating   float64     // of a player for whom the original has none
	Progress func(what string, done, all int)
}

// Report is what was brought, or would be.
type Report struct {
	Counts []Count
	Left   []Left
	Before bool // everything was there already
	counts map[string]int
	left   map[Left]*Left
}

// Count is how many rows of a kind the original has, and how many came to ours; points are rounded.
type Count struct {
	What        string
	There, Here int
}

// Left is what was not brought, and why. Example is one of it.
type Left struct {
	What, Why, Example string
	N                  int
}

// run is one pass over the units of a source.
type run struct {
	*Source
	Options
	Report
	players map[wamble.PublicKey]wamble.Player
	base    [4]int64 // the number of the first row, by sequence
	fate    []fate   // of boards
	verify  *verifier
	pending []intent.Intent
	batches uint64 // units so far, as messages of the journal
	cursor  uint64 // those that the store has
	done    int    // rows, for the progress
	points  float64
}

// fate is what became of a board.
type fate uint8

const (
	leftOut fate = iota
	inPlay
	finished
)

// batchSize is how many intents a transaction has at least.
const batchSize = 512

// ErrOther is returned if a profile has an import of another database.
var ErrOther = errors.New("was imported before from another database, or from this one before it changed: the original must " +
	"not run any more. Import into another --profile, or into an empty database")

// Import brings everything that is not there yet. Call it again after any error: it goes on. Errors: ErrOther.
func (s *Source) Import(ctx context.Context, o Options) (*Report, error) {
	r := &run{Source: s, Options: o}
	if o.To == nil {
		for i := range r.base {
			r.base[i] = 1
		}
		return r.report(ctx, r.units(ctx))
	}
	if err := r.prepare(ctx, true); err != nil {
		return nil, err
	}
	var err error
	if r.Before, err = r.marked(ctx, "complete", 0); err != nil {
		return nil, err
	}
	if r.cursor, err = o.To.Cursor(ctx, markID("rows"), o.Profile); err == nil {
		err = r.units(ctx)
	}
	if err == nil && !r.Before {
		err = r.mark(ctx, "complete", 1)
	}
	return r.report(ctx, err)
}

// prepare finds the numbers of an import that has begun, or begins one.
func (r *run) prepare(ctx context.Context, begin bool) error {
	of, err := r.fingerprint(ctx)
	if err != nil {
		return err
	}
	was, err := r.To.Cursor(ctx, markID("source"), r.Profile)
	switch {
	case err != nil:
		return err
	case was != 0 && was != of:
		return fmt.Errorf("profile %s %w", r.Profile, ErrOther)
	case was == 0 && !begin:
		return fmt.Errorf("nothing was imported to profile %s", r.Profile)
	case was == 0:
		if err := r.checkUnknown(ctx); err != nil {
			return err
		}
	}
	for _, seq := range wamble.Sequences() {
		if len(r.ids[seq]) == 0 {
			continue
		}
		base, err := r.To.Cursor(ctx, markID(seq.String()), r.Profile)
		if err == nil && base == 0 {
			if base, err = r.lease(ctx, seq, len(r.ids[seq])); err == nil {
				err = r.mark(ctx, seq.String(), base)
			}
		}
		if err != nil {
			return err
		}
		r.base[seq] = int64(base)
	}
	if was == 0 {
		return r.mark(ctx, "source", of)
	}
	return nil
}

// checkUnknown refuses a database that came to the store before, perhaps for another profile: its tokens
// would be of two sessions. Tokens are random, so some of them tell.
func (r *run) checkUnknown(ctx context.Context) error {
	if n, err := r.To.Shards(ctx, r.Profile); err != nil {
		return err
	} else if n != 1 {
		return fmt.Errorf("profile %s has %d shards: import with one, 'wamble shards' changes the number later", r.Profile, n)
	}
	return each(ctx, r.games, `(SELECT token FROM sessions ORDER BY id LIMIT 100) UNION ALL (SELECT token FROM sessions ORDER BY id DESC LIMIT 100)`,
		nil, func(rows pgx.Rows) error {
			var token []byte
			if err := rows.Scan(&token); err != nil {
				return err
			}
			_, err := r.To.Session(ctx, tokenOf(token))
			if errors.Is(err, store.ErrNotFound) {
				return nil
			}
			if err == nil {
				err = fmt.Errorf("its sessions are in this store already: profiles of the original that shared a database become one profile here")
			}
			return err
		})
}

// fingerprint is a number that changes when the database does.
func (r *run) fingerprint(ctx context.Context) (uint64, error) {
	h := sha256.New()
	for _, list := range r.ids {
		binary.Write(h, binary.LittleEndian, list)
	}
	err := each(ctx, r.games, `SELECT count(*), coalesce(max(m.id), 0) FROM moves m`, nil, func(rows pgx.Rows) error {
		var n, last int64
		err := rows.Scan(&n, &last)
		fmt.Fprint(h, n, last)
		return err
	})
	return binary.LittleEndian.Uint64(h.Sum(nil))>>1 | 1, err
}

// markID is the journal whose cursor is a mark of an import.
func markID(name string) store.JournalID {
	sum := sha256.Sum256([]byte("wamble import of " + name))
	return store.JournalID(sum[:16])
}

func (r *run) mark(ctx context.Context, name string, n uint64) error {
	return r.To.Apply(ctx, store.Batch{Journal: markID(name), Profile: r.Profile, Through: n})
}

func (r *run) marked(ctx context.Context, name string, than uint64) (bool, error) {
	n, err := r.To.Cursor(ctx, markID(name), r.Profile)
	return n > than, err
}

// lease takes n consecutive numbers.
func (r *run) lease(ctx context.Context, seq wamble.Sequence, n int) (uint64, error) {
	var first, next int64
	for n > 0 {
		blocks, err := r.To.Lease(ctx, seq, min(n, 1_000_000))
		if err != nil {
			return 0, err
		}
		for _, b := range blocks {
			if first == 0 {
				first, next = b.First, b.First
			}
			if b.First != next {
				return 0, fmt.Errorf("numbers of %s were taken meanwhile: is a server running? Try again", seq)
			}
			next += b.Count
			n -= int(b.Count)
		}
	}
	return uint64(first), nil
}

// number returns the number here of a row of the original; 0 if there is no such row.
func (r *run) number(seq wamble.Sequence, id int64) int64 {
	i, ok := slices.BinarySearch(r.ids[seq], id)
	if !ok {
		return 0
	}
	return r.base[seq] + int64(i)
}

// unit takes what belongs to one row of the original.
func (r *run) unit(ctx context.Context, what string, intents []intent.Intent) error {
	for _, in := range intents {
		if err := intent.Check(in); err != nil {
			r.leave(what, err.Error(), fmt.Sprintf("%+v", in))
			continue
		}
		r.counts[counted[in.Kind()]]++
		if y, ok := in.(*intent.RecordPayout); ok {
			r.points += y.Points
		}
		if expect := expects[in.Kind()]; r.verify != nil && expect != nil {
			expect(r.verify, in)
		}
		r.pending = append(r.pending, in)
	}
	if r.done++; r.Progress != nil && r.done%256 == 0 {
		r.Progress(what, r.done, len(r.ids[wamble.BoardIDs])+len(r.ids[wamble.SessionIDs])+len(r.ids[wamble.PredictionIDs]))
	}
	if r.verify != nil {
		r.pending = r.pending[:0]
		return r.verify.unit(ctx)
	}
	if len(r.pending) >= batchSize {
		return r.flush(ctx)
	}
	return ctx.Err()
}

// counted has the kinds that are counted for the report.
var counted = map[intent.Kind]string{
	intent.KindCreateSession: "sessions", intent.KindCreateBoard: "boards", intent.KindRecordMove: "moves",
	intent.KindRecordGameResult: "finished games", intent.KindRecordPayout: "payouts", intent.KindRecordPrediction: "predictions",
	intent.KindRecordTermsAcceptance: "accepted terms",
}

// flush writes a batch, unless the store has it.
func (r *run) flush(ctx context.Context) error {
	if len(r.pending) == 0 {
		return nil
	}
	slices.SortStableFunc(r.pending, func(a, b intent.Intent) int { return a.Kind().Place() - b.Kind().Place() })
	var err error
	if r.batches++; r.To != nil && r.batches > r.cursor {
		err = r.To.Apply(ctx, store.Batch{Journal: markID("rows"), Profile: r.Profile, After: r.batches - 1,
			Through: r.batches, Intents: r.pending})
	}
	r.pending = r.pending[:0]
	return err
}

func (r *run) leave(what, why, example string) {
	at := Left{What: what, Why: why}
	if r.left[at] == nil {
		r.left[at] = &Left{what, why, example, 0}
	}
	r.left[at].N++
}

// report completes the report of a pass that ended with err: what the original has is counted by itself.
func (r *run) report(ctx context.Context, err error) (*Report, error) {
	if err != nil {
		return nil, err
	}
	r.counts["points"] = int(math.Round(r.points))
	for _, c := range []struct{ what, column, sql string }{
		{"players", "players.public_key", `SELECT count(*) FROM players`},
		{"sessions", "sessions.token", `SELECT count(*) FROM sessions`},
		{"boards", "boards.fen", `SELECT count(*) FROM boards`},
		{"finished games", "game_results.winning_side", `SELECT count(*) FROM game_results`},
		{"moves", "moves.move_uci", `SELECT count(*) FROM moves`},
		{"payouts", "payouts.points_awarded", `SELECT count(DISTINCT (board_id, session_id)) FROM payouts`},
		{"points", "payouts.points_awarded", `SELECT round(coalesce(sum(points_awarded), 0))::bigint FROM payouts`},
		{"predictions", "predictions.id", `SELECT count(*) FROM predictions`},
		{"accepted terms", "profile_terms_acceptances.tos_hash", `SELECT count(*) FROM profile_terms_acceptances`},
	} {
		there := 0
		if r.has[c.column] {
			if err := r.games.QueryRow(ctx, c.sql).Scan(&there); err != nil {
				return nil, err
			}
		}
		r.Counts = append(r.Counts, Count{c.what, there, r.counts[c.what]})
	}
	for _, l := range left {
		if n := 0; r.has[l.table+".session_id"] {
			if err := r.games.QueryRow(ctx, `SELECT count(*) FROM `+l.table).Scan(&n); err != nil {
				return nil, err
			}
			if n > 0 {
				r.Left = append(r.Left, Left{l.table, l.why, "", n})
			}
		}
	}
	for _, l := range r.left {
		r.Left = append(r.Left, *l)
	}
	slices.SortFunc(r.Left, func(a, b Left) int { return b.N - a.N })
	return &r.Report, nil
}

// at returns the first time that is known and that both stores can keep.
func (r *run) at(times ...*time.Time) time.Time {
	for _, t := range times {
		if t != nil && t.Unix() >= 0 && t.Year() < 10000 {
			return t.UTC().Truncate(time.Microsecond)
		}
	}
	return r.now.UTC().Truncate(time.Microsecond)
}

func tokenOf(token []byte) (t wamble.Token) {
	copy(t[:], token)
	return t
}

// fourPlaces rounds to the four decimals of the stores.
func fourPlaces(x float64) float64 { return math.Round(x*1e4) / 1e4 }
