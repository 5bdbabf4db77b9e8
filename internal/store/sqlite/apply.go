package sqlite

import (
	"context"
	"errors"

	"wamble/internal/intent"
	"wamble/internal/store"
	"wamble/internal/store/schema"
)

// errRepeat is returned by a writer of several rows when fewer rows changed than it was given:
// some of them were stored before.
var errRepeat = errors.New("some rows are not new")

// writers is the table of functions that write each kind, for runs that have passed
// intent.Check. A run of one intent never returns errRepeat.
var writers = map[intent.Kind]func(*tx, []intent.Intent) error{
	intent.KindCreateSession:             (*tx).createSessions,
	intent.KindLinkSession:               (*tx).linkSessions,
	intent.KindUnlinkSession:             (*tx).unlinkSessions,
	intent.KindMarkBot:                   (*tx).markBots,
	intent.KindRenewToken:                (*tx).renewTokens,
	intent.KindSetTrust:                  (*tx).setTrust,
	intent.KindSetName:                   (*tx).setNames,
	intent.KindRecordTermsAcceptance:     (*tx).recordTerms,
	intent.KindArriveBoard:               (*tx).arriveBoards,
	intent.KindCreateBoard:               (*tx).createBoards,
	intent.KindUpdateBoard:               (*tx).changeBoards,
	intent.KindUpdateBoardAssignmentTime: (*tx).changeBoards,
	intent.KindRecordMove:                (*tx).recordMoves,
	intent.KindRecordGameResult:          (*tx).recordResults,
	intent.KindRecordPayout:              (*tx).recordPayouts,
	intent.KindRecordRating:              (*tx).recordRatings,
	intent.KindRecordPrediction:          (*tx).recordPredictions,
	intent.KindResolvePrediction:         (*tx).resolvePredictions,
	intent.KindCreateReservation:         (*tx).createReservations,
	intent.KindRemoveReservation:         (*tx).removeReservations,
	intent.KindMoveBoard:                 (*tx).moveBoards,
	intent.KindRecordLastMoveShown:       (*tx).recordShown,
	intent.KindUpdateSessionLastSeen:     (*tx).seeSessions,
	intent.KindErasePlayer:               (*tx).erasePlayers,
	intent.KindMergePlayers:              (*tx).mergePlayers,
	intent.KindRevokeSessions:            (*tx).revokeSessions,
	intent.KindPurgeSessions:             (*tx).purgeSessions,
}

// Apply implements store.Store.
func (s *Store) Apply(ctx context.Context, b store.Batch) error {
	if err := schema.CheckAll(b); err != nil {
		return err
	}
	work := func(oneByOne bool) error {
		return s.writer.transact(ctx, func(t *tx) error {
			t.oneByOne = oneByOne
			t.profile, t.shard = store.SplitName(b.Profile)
			if err := t.moveCursor(b); err != nil {
				return err
			}
			return t.write(b.Intents)
		})
	}
	err := work(false)
	if errors.Is(err, errRepeat) {
		err = work(true)
	}
	return classify(ctx, "apply", err)
}

// write writes intents run by run, or one by one if t.oneByOne.
func (t *tx) write(intents []intent.Intent) error {
	for kind, run := range schema.Runs(intents) {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		most := len(run)
		if t.oneByOne {
			most = 1
		}
		for len(run) > 0 {
			if err := writers[kind](t, run[:most]); err != nil {
				return err
			}
			run = run[most:]
		}
	}
	return nil
}

// short reports whether a statement changed fewer rows than it was given. For one row, true
// means that it was stored before, or does not exist; for several rows the error is errRepeat,
// because it is unknown which.
func (t *tx) short(changed int64, rows int) (bool, error) {
	if changed == int64(rows) {
		return false, nil
	}
	if rows == 1 {
		return true, nil
	}
	return false, errRepeat
}

// errProbe rolls back the transaction of a probe.
var errProbe = errors.New("a probe writes nothing")

// Probe implements store.Store.
func (s *Store) Probe(ctx context.Context, b store.Batch) ([]store.Rejection, error) {
	if err := schema.CheckBatch(b); err != nil {
		return nil, err
	}
	var rejected []store.Rejection
	err := s.writer.transact(ctx, func(t *tx) error {
		t.profile, t.shard = store.SplitName(b.Profile)
		found, err := schema.Probe(b.Intents, t.try)
		if err != nil {
			return err
		}
		rejected = found
		return errProbe
	})
	if !errors.Is(err, errProbe) {
		return nil, classify(ctx, "probe", err)
	}
	return rejected, nil
}

// try writes intents, and undoes them if one fails.
func (t *tx) try(intents []intent.Intent) error {
	t.oneByOne = false
	err := t.inSavepoint(intents)
	if errors.Is(err, errRepeat) {
		t.oneByOne = true
		err = t.inSavepoint(intents)
	}
	return classify(t.ctx, intents[0].Kind().String(), err)
}

// inSavepoint writes intents within a savepoint, and rolls back to it if one fails.
func (t *tx) inSavepoint(intents []intent.Intent) error {
	if _, err := t.exec("SAVEPOINT probe"); err != nil {
		return classify(t.ctx, "probe", err)
	}
	err := t.write(intents)
	if err != nil {
		if _, rerr := t.exec("ROLLBACK TO probe"); rerr != nil {
			return classify(t.ctx, "probe", rerr)
		}
	}
	if _, rerr := t.exec("RELEASE probe"); rerr != nil {
		return classify(t.ctx, "probe", rerr)
	}
	return err
}
