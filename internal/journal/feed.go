package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store"
	"wamble/runner"
)

// The feed is the finished games: one line of JSON for each in the runner's outbox, written in the commit
// that acknowledges the batch which brought the result to the store. So a game is in the feed once, and
// never before it is in the store.

// Ended is a line of the feed.
type Ended struct {
	Profile  string         `json:"profile"`
	Board    wamble.BoardID `json:"board"`
	Winner   string         `json:"winner"` // "white", "black" or "draw"
	Reason   string         `json:"reason"`
	Plies    int            `json:"plies"`
	Seconds  float64        `json:"seconds"` // since the board was made
	Finished time.Time      `json:"finished"`
}

var winners = map[wamble.Result]string{wamble.WhiteWins: "white", wamble.BlackWins: "black", wamble.Draw: "draw"}

// FeedSize is how many games the feed keeps; the oldest are dropped when it has FeedTrim more.
const (
	FeedSize = 100_000
	FeedTrim = 1024
)

// emit writes the games that ended in a batch to the outbox, except those that the store has refused. It
// includes games that the store had from an earlier attempt, which was not committed.
func (r *run) emit(d *Drain) error {
	for i := range r.queue {
		m := &r.queue[i]
		if !m.ends {
			continue
		}
		for place, record := range m.records() {
			if !record.endsGame() || r.refused[Origin{m.Seq, place}] {
				continue
			}
			if err := r.emitResult(d, record); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) emitResult(d *Drain, record record) error {
	var result intent.RecordGameResult
	if err := intent.ReadFields(record.fields, &result); err != nil {
		return err
	}
	profile, _ := store.SplitName(d.o.Profile)
	line, err := json.Marshal(Ended{
		profile, result.Board, winners[result.Result], result.Reason,
		result.Plies, result.Duration.Seconds(), result.At.UTC(),
	})
	if err != nil {
		return err
	}
	if err := r.b.Tx.Emit(line); err != nil {
		return fmt.Errorf("emit the end of board %d: %w", result.Board, err)
	}
	d.emitted++
	return nil
}

// feed reports that the feed has grown, and trims it.
func (d *Drain) feed(ctx context.Context) error {
	if d.emitted == d.announced {
		return nil
	}
	d.announced = d.emitted
	if d.o.Observer != nil {
		d.o.Observer.FeedGrown()
	}
	return TrimFeed(ctx, d.r, FeedSize, FeedTrim)
}

// TrimFeed drops the oldest games if there are more than keep plus slack.
func TrimFeed(ctx context.Context, r *runner.Runner, keep, slack int) error {
	have := int(r.Stats().Outbox)
	if have <= keep+slack {
		return nil
	}
	_, err := r.DrainOutbox(ctx, min(have-keep, 16*FeedTrim), func(runner.OutboxRow) error { return nil })
	return err
}

// FeedRow is a game of the feed, with its number.
type FeedRow struct {
	Seq uint64
	Ended
}

// maxFeedScan bounds how many rows one read of the feed scans: the outbox has the games of all profiles.
const maxFeedScan = 4096

// ReadFeed returns up to limit games of a profile with numbers above after, oldest first, and the highest
// number that it has scanned. gone says that games above after were dropped.
func ReadFeed(r *runner.Runner, profile string, after uint64,
	limit int) (rows []FeedRow, upTo uint64, gone bool, err error) {
	upTo = after
	for scanned := 0; scanned < maxFeedScan && len(rows) < limit; {
		page, err := r.Outbox(upTo+1, 256)
		if err != nil {
			return nil, after, false, err
		}
		if scanned == 0 && len(page) > 0 && after > 0 && page[0].Seq > after+1 {
			return nil, after, true, nil
		}
		for _, row := range page {
			if len(rows) == limit {
				break
			}
			upTo = row.Seq
			var e Ended
			if json.Unmarshal(row.Message, &e) == nil && e.Profile == profile {
				rows = append(rows, FeedRow{row.Seq, e})
			}
		}
		scanned += len(page)
		if len(page) < 256 {
			break
		}
	}
	return rows, upTo, false, nil
}

// FeedEnd returns the highest number that a game of the feed has had.
func FeedEnd(r *runner.Runner) uint64 { return r.OutboxEnd() }
