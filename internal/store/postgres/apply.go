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
	// rows is how many rows it touches if all are new; -1: not compared.
	rows int
	// verify is a query that is run if fewer rows were touched, with the same
	// args, or with those of compare. If it yields a row, that is a text that says
	// what is wrong. Or it is verifyRepeat.
	verify  string
	compare []any
}

// verifyRepeat says that some of what a statement was to write was there before, and
// that only statements of one intent each tell which. Those never have it.
const verifyRepeat = "repeat"

// errRepeat is what verifyRepeat leads to.
var errRepeat = errors.New("some rows are not new")

// writers is the one table of how each kind is written, for runs that have
// passed intent.Check.
var writers = map[intent.Kind]func(profile string, run []intent.Intent) []statement{
	intent.KindCreateSession:             createSessions,
	intent.KindLinkSession:               linkSessions,
	intent.KindUnlinkSession:             unlinkSessions,
	intent.KindRenewToken:                renewTokens,
	intent.KindSetTrust:                  setTrust,
	intent.KindSetName:                   setNames,
	intent.KindRecordTermsAcceptance:     recordTerms,
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
	intent.KindRecordLastMoveShown:       recordShown,
	intent.KindUpdateSessionLastSeen:     seeSessions,
	intent.KindErasePlayer:               erasePlayers,
	intent.KindRevokeSessions:            revokeSessions,
	intent.KindPurgeSessions:             purgeSessions,
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

func (s *Store) apply(ctx context.Context, b store.Batch, oneByOne bool) error {
	statements := append(s.keepOwner(b.Profile), moveCursor(b))
	statements = append(statements, statementsOf(b.Profile, b.Intents, oneByOne)...)
	limited, cancel := s.limit(ctx, b.Intents, len(statements))
	defer cancel()
	return s.transact(limited, func(conn *pgxpool.Conn) error {
		if err := s.execute(limited, conn, s.begin(), statements); err != nil {
			return err
		}
		tag, err := conn.Exec(limited, "COMMIT")
		if err == nil && tag.String() != "COMMIT" { // the server takes COMMIT of a failed transaction as ROLLBACK
			err = fmt.Errorf("the server answered COMMIT with %s", tag)
		}
		return err
	})
}

// statementsOf writes intents run by run, or moves one by one.
func statementsOf(profile string, intents []intent.Intent, oneByOne bool) (all []statement) {
	for kind, run := range schema.Runs(intents) {
		most := len(run)
		if oneByOne && kind == intent.KindRecordMove {
			most = 1
		}
		for part := range slices.Chunk(run, most) {
			all = append(all, writers[kind](profile, part)...)
		}
	}
	return all
}

// limit bounds a whole batch. The server's own limit on statements does not
// hold for what a new connection asks before BEGIN: the descriptions of the
// statements, which wait for whoever locks a table. Only a purge may take as
// long as it takes.
func (s *Store) limit(ctx context.Context, intents []intent.Intent, statements int) (context.Context, context.CancelFunc) {
	if slices.ContainsFunc(intents, func(in intent.Intent) bool { return in.Kind() == intent.KindPurgeSessions }) {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Duration(statements+2)*s.timeout)
}

// transact hands out a connection and sees to it that no transaction is left
// open on it. If its server is no longer the primary, all connections end, those
// that only read too: what they read would be old. New ones look for the primary.
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
		_, _ = conn.Exec(cleanup, "ROLLBACK") // if it fails, Release ends the connection
	}
	return err
}

// begin starts a transaction that is on disk when COMMIT returns, whatever the
// server's default is.
func (s *Store) begin() *pgx.Batch {
	b := &pgx.Batch{}
	b.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	b.Queue("SELECT set_config('synchronous_commit', 'on', true), set_config('statement_timeout', $1, true)",
		strconv.FormatInt(s.timeout.Milliseconds(), 10))
	return b
}

// execute sends what stands in b and the statements in one round trip, then
// looks at the counts.
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
			_ = results.Close() // repeats err
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
	for _, st := range short {
		if err := verify(ctx, conn, st); err != nil {
			return err
		}
	}
	return nil
}

// verify finds out why a statement wrote fewer rows than it was given.
func verify(ctx context.Context, conn *pgxpool.Conn, st statement) error {
	var wrong string
	args := st.args
	if st.compare != nil {
		args = st.compare
	}
	if st.verify == verifyRepeat {
		return errRepeat
	}
	if st.verify == selectOwner {
		other := &store.Owned{}
		if err := scanOwner(conn.QueryRow(ctx, selectOwner, args...), other); err != nil && !isNoRow(err) {
			return err
		}
		return other
	}
	err := conn.QueryRow(ctx, st.verify, args...).Scan(&wrong)
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
		found, err := schema.Probe(b.Intents, func(run []intent.Intent) error { return s.try(limited, conn, b.Profile, run) })
		rejected = found
		return err // transact rolls back
	})
	if err != nil {
		return nil, classify(ctx, "probe", err)
	}
	return rejected, nil
}

// try writes intents and takes them back if one fails.
func (s *Store) try(ctx context.Context, conn *pgxpool.Conn, profile string, intents []intent.Intent) error {
	err := s.inSavepoint(ctx, conn, intents, statementsOf(profile, intents, false))
	if errors.Is(err, errRepeat) {
		err = s.inSavepoint(ctx, conn, intents, statementsOf(profile, intents, true))
	}
	return err
}

// inSavepoint executes the statements of intents within a savepoint, to which it goes
// back if one fails.
func (s *Store) inSavepoint(ctx context.Context, conn *pgxpool.Conn, intents []intent.Intent, statements []statement) error {
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
