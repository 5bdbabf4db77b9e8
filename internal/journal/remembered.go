package journal

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"

	"wamble/runner"
)

// The events of observers can be remembered in the journal, for the next process that holds it: one row per
// reported batch, written in the commit that acknowledges the batch. The oldest rows are deleted beyond
// what recentEvents returns.

// rememberedRow is the value of such a row; its key ends with the last message of the batch.
type rememberedRow struct {
	After uint64 // the row has the messages behind it, up to that of the key
	List  []Event
}

// remembered lists the rows, oldest first.
type remembered struct {
	rows   []rememberedAt
	events int // in all of them
}

type rememberedAt struct {
	through uint64
	events  int
}

func rememberedKey(profile string, through uint64) []byte {
	return binary.BigEndian.AppendUint64(append(append([]byte("told/"), profile...), 0), through)
}

// remember writes the events of a batch, and deletes the oldest rows.
func (d *Drain) remember(tx *runner.Tx, after, through uint64, list []Event) error {
	value, err := json.Marshal(rememberedRow{after, list})
	if err != nil {
		return err
	}
	if len(value) > runner.MaxValue {
		return nil // a hole
	}
	err = tx.Put(rememberedKey(d.o.Profile, through), value)
	m := &d.remembered
	m.rows = append(m.rows, rememberedAt{through, len(list)})
	m.events += len(list)
	for len(m.rows) > 1 && (len(m.rows) > maxRecentEvents || m.events > maxRecentEvents) {
		err = errors.Join(err, tx.Delete(rememberedKey(d.o.Profile, m.rows[0].through)))
		m.events -= m.rows[0].events
		m.rows = m.rows[1:]
	}
	return err
}

// rememberedEvents returns the remembered events behind first, up to last, and whether they are complete.
func (d *Drain) rememberedEvents(ctx context.Context, last uint64) (first uint64, list []Event, known bool, err error) {
	d.remembered = remembered{}
	first = last
	_, err = d.r.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error {
		d.remembered, known = remembered{}, false
		at := uint64(0)
		var damaged error
		err := tx.Range(rememberedKey(d.o.Profile, 0), rememberedKey(d.o.Profile, 1<<63), func(key, value []byte) bool {
			var row rememberedRow
			if damaged = json.Unmarshal(value, &row); damaged != nil {
				return false
			}
			through := binary.BigEndian.Uint64(key[len(key)-8:])
			d.remembered.rows = append(d.remembered.rows, rememberedAt{through, len(row.List)})
			d.remembered.events += len(row.List)
			if row.After != at || first == last && at == 0 { // drop what was before a hole
				first, list = row.After, nil
			}
			list = append(list, row.List...)
			at = through
			return true
		})
		known = at == last && at > 0
		return errors.Join(err, damaged)
	})
	return first, slices.Clip(list), known && err == nil, err
}
