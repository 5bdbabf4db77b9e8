package journal

import (
	"errors"
	"strings"
	"time"

	"wamble/internal/intent"
)

// deadEvery is how often DrainOptions.Dead is told of dead letters: a store that
// refuses a million intents does not fill the log.
const deadEvery = 10 * time.Second

// burials are new dead letters that nobody was told of yet.
type burials struct {
	count int
	last  error // why the last one was refused
}

func (l *burials) add(reason error) { l.count, l.last = l.count+1, reason }

// reasonOf says why a store refuses an intent, with the kind named once: stores
// name it in some of their errors.
func reasonOf(k intent.Kind, err error) error {
	kind, text := k.String()+": ", err.Error()
	for strings.HasPrefix(text, kind) {
		text = text[len(kind):]
	}
	return errors.New(kind + text)
}

// buried adds the dead letters of a batch to those to be told.
func (d *Drain) buried(l burials) {
	if l.count > 0 {
		d.dead = burials{d.dead.count + l.count, l.last}
	}
}

// tellDead tells of new dead letters, unless it did a moment ago and there will
// be another turn.
func (d *Drain) tellDead(now time.Time, last bool) {
	if d.dead.count == 0 || !last && now.Sub(d.deadTold) < deadEvery {
		return
	}
	if d.o.Dead != nil {
		d.o.Dead(d.dead.count, d.dead.last)
	}
	d.dead, d.deadTold = burials{}, now
}
