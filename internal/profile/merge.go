package profile

import (
	"wamble"
	"wamble/internal/intent"
)

// Merge makes one player of two, by the host's command: sessions, points and key of From become Into's. The
// rows are those of the store.
type Merge struct{ From, Into wamble.Player }

func (in *Merge) apply(p *Profile, out *Output) {
	if in.From.Key == in.Into.Key || in.From.Key.IsZero() || in.Into.Key.IsZero() || p.stage == failed {
		return
	}
	p.sessions.Merge(&in.From, &in.Into)
	p.mergeKeys(in.From.Key, in.Into.Key, out)
	p.sessions.Merged(in.Into.Key, p.watermarks.newest)
	p.stats.Host.Merged++
}

// mergeKeys records that one player has another's key from now on, in memory and in the store. Every profile of the
// store writes its own message, so that it follows whatever that profile has written of the player before.
func (p *Profile) mergeKeys(from, into wamble.PublicKey, out *Output) {
	p.rememberMerged(from, into)
	p.frame.Add(&intent.MergePlayers{From: from, Into: into, At: p.clock.now})
	p.seal(out)
}

// mergedKeys maps the key of a player to that of the player they were merged into, for merges since the
// start. The store knows the others.
type mergedKeys map[wamble.PublicKey]wamble.PublicKey

// maxMerged bounds mergedKeys. When it is full it is emptied, and only the store knows, which may be
// behind.
const maxMerged = 4096

// rememberMerged adds a merge to mergedKeys.
func (p *people) rememberMerged(from, into wamble.PublicKey) {
	if p.merged == nil || len(p.merged) >= maxMerged {
		p.merged = mergedKeys{}
	}
	for key, is := range p.merged {
		if is == from {
			p.merged[key] = into
		}
	}
	delete(p.merged, into)
	p.merged[from] = into
}

// playerOf returns the key of the player that a key belongs to: itself, unless its player was merged.
func (p *people) playerOf(key wamble.PublicKey) wamble.PublicKey {
	if into, ok := p.merged[key]; ok {
		return into
	}
	return key
}

// forgetMerged removes the keys of an erased player.
func (p *people) forgetMerged(key wamble.PublicKey) {
	for from, into := range p.merged {
		if into == key {
			delete(p.merged, from)
		}
	}
}
