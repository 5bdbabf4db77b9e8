package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"wamble/internal/intent"
	"wamble/internal/store"
	"wamble/internal/store/schema"
)

// statement writes the rows of a run.
type statement struct {
	sql  string
	args []any
	// rows is how many rows the statement affects if all are new; -1 if the count is not
	// checked.
	rows int
	// verify is a query that runs if fewer rows were affected, with args, or with compare if
	// that is set. A row that it returns is a text that describes the fault. Or verify is
	// verifyRepeat.
	verify  string
	compare []any
}

// verifyRepeat means: if the statement affects fewer rows, or violates a unique index, some
// rows were stored before, and the repeaters must write the batch. The statements of repeaters
// never have it.
const verifyRepeat = "repeat"

// errRepeat is the error for verifyRepeat.
var errRepeat = errors.New("some rows are not new")

// writers is the table of functions that write each kind, for runs that have passed
// intent.Check.
var writers = map[intent.Kind]func(profile string, run []intent.Intent) []statement{
	intent.KindCreateSession:             createSessions,
	intent.KindLinkSession:               linkSessions,
	intent.KindUnlinkSession:             unlinkSessions,
	intent.KindMarkBot:                   markBots,
	intent.KindRenewToken:                renewTokens,
	intent.KindSetTrust:                  setTrust,
	intent.KindSetName:                   setNames,
	intent.KindRecordTermsAcceptance:     recordTerms,
	intent.KindArriveBoard:               arriveBoards,
	intent.KindCreateBoard:               createBoards,
	intent.KindUpdateBoard:               changeBoards,
	intent.KindUpdateBoardAssignmentTime: changeBoards,
	intent.KindRecordMove:                recordMoves,
	intent.KindRecordGameResult:          recordResults,
	intent.KindRecordPayout:              recordPayouts,
	intent.KindRecordRating:              recordRatings,
	intent.KindRecordPrediction:          recordPredictions,
	intent.KindResolvePrediction:         resolvePredictions,
	intent.KindCreateReservation:         createReservations,
	intent.KindRemoveReservation:         removeReservations,
	intent.KindMoveBoard:                 moveBoards,
	intent.KindRecordLastMoveShown:       recordShown,
	intent.KindUpdateSessionLastSeen:     seeSessions,
	intent.KindErasePlayer:               erasePlayers,
	intent.KindMergePlayers:              mergePlayers,
	intent.KindRevokeSessions:            revokeSessions,
	intent.KindPurgeSessions:             purgeSessions,
}

// repeaters write kinds whose writers are faster but require that all rows are new.
var repeaters = map[intent.Kind]func(profile string, run []intent.Intent) []statement{
	intent.KindRecordMove:   repeatMoves,
	intent.KindRecordPayout: repeatPayouts,
}

// Apply implements store.Store.
func (s *Store) Apply(ctx context.Context, b store.Batch) error {
	if err := schema.CheckAll(b); err != nil {
		return err
	}
	err := s.apply(ctx, b, false)
	if errors.Is(err, errRepeat) {
		err = s.apply(ctx, b, true)
	}
	return classify(ctx, "apply", err)
}

func (s *Store) apply(ctx context.Context, b store.Batch, repeated bool) error {
	statements := append(s.keepOwner(b.Profile), moveCursor(b))
	statements = append(statements, lockRows(b.Intents)...)
	statements = append(statements, statementsOf(b.Profile, b.Intents, repeated)...)
	limited, cancel := s.limit(ctx, b.Intents, len(statements))
	defer cancel()
	return s.transact(limited, func(conn *pgxpool.Conn) error {
		if err := s.execute(limited, conn, s.begin(), statements); err != nil {
			return err
		}
		tag, err := conn.Exec(limited, "COMMIT")
		if err == nil && tag.String() != "COMMIT" { // the server turns COMMIT of a failed transaction into ROLLBACK
			err = fmt.Errorf("the server answered COMMIT with %s", tag)
		}
		return err
	})
}

// statementsOf returns the statements that write intents run by run. With repeated some of them
// may be stored already.
func statementsOf(profile string, intents []intent.Intent, repeated bool) (all []statement) {
	for kind, run := range schema.Runs(intents) {
		write := writers[kind]
		if repeat := repeaters[kind]; repeated && repeat != nil {
			write = repeat
		}
		all = append(all, write(profile, run)...)
	}
	return all
}

// lockRows locks the changed sessions, and the players who are paid or rated, in one order: a
// game that ends also changes those of other shards and profiles, whose batches change them at
// the same time. Without the order, deadlocks occur, which the server detects only after a
// second. A rating is shared by all sessions of a player.
func lockRows(intents []intent.Intent) []statement {
	var changed, paid []int64
	var keys [][]byte
	for _, in := range intents {
		l := in.Kind().Row().Locks(in)
		switch {
		case l.Session == 0:
		case l.Player:
			paid = append(paid, int64(l.Session))
		default:
			changed = append(changed, int64(l.Session))
		}
		if !l.Key.IsZero() {
			keys = append(keys, l.Key[:])
		}
	}
	// Thousands of moves have few players.
	changed = schema.Distinct(len(changed), func(i int) int64 { return changed[i] })
	paid = schema.Distinct(len(paid), func(i int) int64 { return paid[i] })
	switch {
	case len(paid) > 0:
		const players = `SELECT player_id FROM sessions WHERE id = ANY($1::bigint[]) UNION SELECT id FROM players WHERE public_key = ANY($2::bytea[])`
		return []statement{
			{rows: -1, args: []any{paid, keys, changed}, sql: `SELECT FROM sessions WHERE id IN (SELECT unnest($1::bigint[]) UNION SELECT unnest($3::bigint[])
				UNION SELECT id FROM sessions WHERE player_id IN (` + players + `)) ORDER BY id FOR NO KEY UPDATE`},
			{rows: -1, args: []any{paid, keys}, sql: `SELECT FROM players WHERE id IN (` + players + `) ORDER BY id FOR NO KEY UPDATE`},
		}
	case len(changed) > 0:
		return []statement{{rows: -1, args: []any{changed},
			sql: `SELECT FROM sessions WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE`}}
	}
	return nil
}

// limit bounds the time of a whole batch. The server's statement_timeout does not apply to what
// a new connection sends before BEGIN: the descriptions of statements, which wait for locks on
// tables. Only a purge has no limit.
func (s *Store) limit(ctx context.Context, intents []intent.Intent, statements int) (context.Context,
	context.CancelFunc) {
	if slices.ContainsFunc(intents, func(in intent.Intent) bool { return in.Kind() == intent.KindPurgeSessions }) {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Duration(statements+2)*s.timeout)
}

// transact calls work with a connection and leaves no transaction open on it. If the server is
// no longer the primary, all connections are closed, including those that only read, because
// they would read old data. New ones look for the primary.
func (s *Store) transact(ctx context.Context, work func(*pgxpool.Conn) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	notices := conn.Conn().PgConn().CustomData()
	delete(notices, unreplicated)
	err = work(conn)
	if warning, ok := notices[unreplicated]; ok && err == nil {
		s.doubt.Store(true)
		err = fmt.Errorf("committed, but no synchronous standby is known to have it: %v", warning)
	}
	if isReadOnly(err) {
		s.pool.Reset()
	}
	if !conn.Conn().IsClosed() && conn.Conn().PgConn().TxStatus() != 'I' {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, _ = conn.Exec(cleanup, "ROLLBACK") // if it fails, Release closes the connection
	}
	return err
}

// send sends a queue of whole transactions in one round trip.
func (s *Store) send(ctx context.Context, b *pgx.Batch) error {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.transact(limited, func(conn *pgxpool.Conn) error { return conn.SendBatch(limited, b).Close() })
}

// begin starts a transaction that is on disk when COMMIT returns, whatever the server's
// default.
func (s *Store) begin() *pgx.Batch {
	b := &pgx.Batch{}
	s.queueBegin(b)
	return b
}

func (s *Store) queueBegin(b *pgx.Batch) {
	b.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	b.Queue("SELECT set_config('synchronous_commit', 'on', true), set_config('statement_timeout', $1, true)",
		strconv.FormatInt(s.timeout.Milliseconds(), 10))
}

// execute sends the queue b and the statements in one round trip, then checks the counts.
func (s *Store) execute(ctx context.Context, conn *pgxpool.Conn, b *pgx.Batch, statements []statement) error {
	before := b.Len()
	for _, st := range statements {
		b.Queue(st.sql, st.args...)
	}
	results := conn.SendBatch(ctx, b)
	var short []statement
	for i := range b.Len() {
		tag, err := results.Exec()
		if err != nil {
			_ = results.Close() // returns the same err
			if i >= before && statements[i-before].verify == verifyRepeat && isDuplicate(err) {
				err = errRepeat
			}
			return err
		}
		if i < before {
			continue
		}
		if st := statements[i-before]; st.rows >= 0 && tag.RowsAffected() < int64(st.rows) {
			short = append(short, st)
		}
	}
	if err := results.Close(); err != nil {
		return err
	}
	return verify(ctx, conn, short)
}

// verify finds out, in one round trip, why statements affected fewer rows than they were given,
// and returns the first fault.
func verify(ctx context.Context, conn *pgxpool.Conn, short []statement) (wrong error) {
	b := &pgx.Batch{}
	for _, st := range short {
		if st.verify == verifyRepeat {
			wrong = errRepeat
			break
		}
		args := st.args
		if st.compare != nil {
			args = st.compare
		}
		b.Queue(st.verify, args...)
	}
	if b.Len() == 0 {
		return wrong
	}
	results := conn.SendBatch(ctx, b)
	for _, st := range short[:b.Len()] {
		if err := verified(st, results.QueryRow()); err != nil {
			wrong = err
			break
		}
	}
	if err := results.Close(); wrong == nil {
		wrong = err
	}
	return wrong
}

// verified reads the result of the query that verifies a statement.
func verified(st statement, row pgx.Row) error {
	if st.verify == selectOwner {
		other := &store.Owned{}
		if err := scanOwner(row.Scan, other); err != nil && !isNoRow(err) {
			return err
		}
		return other
	}
	var wrong string
	err := row.Scan(&wrong)
	switch {
	case isNoRow(err):
		return nil
	case err != nil:
		return err
	case st.verify == verifyCursor:
		at, err := strconv.ParseUint(wrong, 10, 64)
		if err != nil {
			return fmt.Errorf("read cursor: %w", err)
		}
		return &store.CursorMoved{At: at}
	}
	return schema.Badf("%s", wrong)
}

// Probe implements store.Store.
func (s *Store) Probe(ctx context.Context, b store.Batch) ([]store.Rejection, error) {
	if err := schema.CheckBatch(b); err != nil {
		return nil, err
	}
	var rejected []store.Rejection
	limited, cancel := s.limit(ctx, b.Intents, len(b.Intents))
	defer cancel()
	err := s.transact(limited, func(conn *pgxpool.Conn) error {
		if err := s.execute(limited, conn, s.begin(), nil); err != nil {
			return err
		}
		found, err := schema.Probe(b.Intents,
			func(run []intent.Intent) error { return s.try(limited, conn, b.Profile, run) })
		rejected = found
		return err // transact rolls back
	})
	if err != nil {
		return nil, classify(ctx, "probe", err)
	}
	return rejected, nil
}

// try writes intents, and undoes them if one fails.
func (s *Store) try(ctx context.Context, conn *pgxpool.Conn, profile string, intents []intent.Intent) error {
	err := s.inSavepoint(ctx, conn, intents, statementsOf(profile, intents, false))
	if errors.Is(err, errRepeat) {
		err = s.inSavepoint(ctx, conn, intents, statementsOf(profile, intents, true))
	}
	return err
}

// inSavepoint executes the statements of intents within a savepoint, and rolls back to it if
// one fails.
func (s *Store) inSavepoint(ctx context.Context, conn *pgxpool.Conn, intents []intent.Intent,
	statements []statement) error {
	b := &pgx.Batch{}
	b.Queue("SAVEPOINT probe")
	err := s.execute(ctx, conn, b, statements)
	if err != nil {
		if !errors.Is(err, errRepeat) {
			err = classify(ctx, intents[0].Kind().String(), err)
		}
		if _, rerr := conn.Exec(ctx, "ROLLBACK TO SAVEPOINT probe"); rerr != nil {
			return classify(ctx, "probe", rerr)
		}
	}
	if _, rerr := conn.Exec(ctx, "RELEASE SAVEPOINT probe"); rerr != nil {
		return classify(ctx, "probe", rerr)
	}
	return err
}
