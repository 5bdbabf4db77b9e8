package profile

import (
	"wamble"
	"wamble/internal/intent"
)

// Merge makes one player of two, by the host's command: From's sessions, points and key
// are Into's. The rows are what the store, or another profile, has of them.
type Merge struct{ From, Into wamble.Player }

func (in *Merge) take(p *Profile, out *Output) {
	if in.From.Key == in.Into.Key || in.From.Key.IsZero() || in.Into.Key.IsZero() || !p.deletes(out) {
		return
	}
	p.merge(in, out)
	out.News = append(out.News, Change{What: Merged, Key: in.Into.Key, Merge: in})
	p.stats.Host.Merged++
}

// merge merges two players in memory, once, and in the store: every profile of the store
// has its own message, behind whatever it has written of From before.
func (p *Profile) merge(in *Merge, out *Output) {
	if p.playerOf(in.From.Key) != in.Into.Key {
		p.sessions.Merge(&in.From, &in.Into)
		p.keepMerged(in.From.Key, in.Into.Key)
		clear(p.pages)
	}
	p.draft.Add(&intent.MergePlayers{From: in.From.Key, Into: in.Into.Key, At: p.clock.now})
	p.seal(out)
	p.sessions.Merged(in.Into.Key, p.gates.last)
}

// mergedKeys is the key of the player whom the one of a key was merged into, for those
// that were merged since the start. The store knows the others.
type mergedKeys map[wamble.PublicKey]wamble.PublicKey

// maxMerged bounds mergedKeys. Beyond it the store is asked, which may be behind.
const maxMerged = 4096

// keepMerged remembers whose key a key is.
func (p *Profile) keepMerged(from, into wamble.PublicKey) {
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

// playerOf returns the key of the player whom a key belongs to: itself, or that of whom
// its player was merged into.
func (p *Profile) playerOf(key wamble.PublicKey) wamble.PublicKey {
	if into, ok := p.merged[key]; ok {
		return into
	}
	return key
}

// forgetMerged forgets the keys of a player who was erased.
func (p *Profile) forgetMerged(key wamble.PublicKey) {
	for from, into := range p.merged {
		if into == key {
			delete(p.merged, from)
		}
	}
}
