package journal

import (
	"errors"
	"strings"
	"time"

	"wamble/internal/intent"
)

// deadReportEvery is the shortest time between two calls of DrainOptions.OnDeadLetters, so that a store which refuses a
// million intents does not fill the log.
const deadReportEvery = 10 * time.Second

// deadLetterBatch counts new dead letters that were not reported yet.
type deadLetterBatch struct {
	count int
	last  error // the reason of the last one
}

func (l *deadLetterBatch) add(reason error) { l.count, l.last = l.count+1, reason }

// reasonOf returns the reason why a store refuses an intent, with the kind named once: some errors of
// stores name it already.
func reasonOf(k intent.Kind, err error) error {
	kind, text := k.String()+": ", err.Error()
	for strings.HasPrefix(text, kind) {
		text = text[len(kind):]
	}
	return errors.New(kind + text)
}

// addDeadLetters adds the dead letters of a batch to those to be reported.
func (d *Drain) addDeadLetters(l deadLetterBatch) {
	if l.count > 0 {
		d.unreported = deadLetterBatch{d.unreported.count + l.count, l.last}
	}
}

// reportDeadLetters reports new dead letters, unless it has done so less than deadReportEvery ago and this is not
// the last call.
func (d *Drain) reportDeadLetters(now time.Time, last bool) {
	if d.unreported.count == 0 || !last && now.Sub(d.deadReported) < deadReportEvery {
		return
	}
	if d.o.OnDeadLetters != nil {
		d.o.OnDeadLetters(d.unreported.count, d.unreported.last)
	}
	d.unreported, d.deadReported = deadLetterBatch{}, now
}
