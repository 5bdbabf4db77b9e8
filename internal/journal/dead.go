package journal

import (
	"errors"
	"strings"
	"time"

	"wamble/internal/intent"
)

// deadEvery is the shortest time between two calls of DrainOptions.Dead, so that a store which refuses a
// million intents does not fill the log.
const deadEvery = 10 * time.Second

// burials counts new dead letters that were not reported yet.
type burials struct {
	count int
	last  error // the reason of the last one
}

func (l *burials) add(reason error) { l.count, l.last = l.count+1, reason }

// reasonOf returns the reason why a store refuses an intent, with the kind named once: some errors of
// stores name it already.
func reasonOf(k intent.Kind, err error) error {
	kind, text := k.String()+": ", err.Error()
	for strings.HasPrefix(text, kind) {
		text = text[len(kind):]
	}
	return errors.New(kind + text)
}

// buried adds the dead letters of a batch to those to be reported.
func (d *Drain) buried(l burials) {
	if l.count > 0 {
		d.dead = burials{d.dead.count + l.count, l.last}
	}
}

// tellDead reports new dead letters, unless it has done so less than deadEvery ago and this is not the last
// call.
func (d *Drain) tellDead(now time.Time, last bool) {
	if d.dead.count == 0 || !last && now.Sub(d.deadTold) < deadEvery {
		return
	}
	if d.o.Dead != nil {
		d.o.Dead(d.dead.count, d.dead.last)
	}
	d.dead, d.deadTold = burials{}, now
}
