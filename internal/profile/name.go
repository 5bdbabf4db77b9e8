package profile

import (
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/link"
	"wamble/wire"
)

var errNameTaken = &wamble.Denied{Code: wamble.AccessDenied, Reason: "this name is taken"}

// MinNameAge is how long a player must keep a name that they have chosen.
const MinNameAge = wamble.NameKept * 24 * time.Hour

// setName gives the player's identity a name. The store is asked which player has it; names that the store
// does not have yet belong to identities in memory, here or in another profile, which the load waits for.
// If other machines could give the name away at the same time, the store decides.
func (p *Profile) setName(r *request, out *Output) verdict {
	name, i := r.message.(*wire.SetName).Name.String(), r.session.Identity()
	if i == nil {
		return p.deny(r, errNoIdentity)
	}
	if err := wamble.CheckName(name); err != nil {
		return p.deny(r, deniedOf(err))
	}
	in, renamed := r.answerTo(NameOf), i.Renamed()
	claims := p.shard.Of > 1 && !p.keepsName(renamed)
	if in == nil {
		what := Load{Subject: NameOf, Token: r.h.Token, Key: i.Key(), Handle: name}
		if claims {
			what.First.Renamed = p.clock.wall()
		}
		return p.ask(r, what, out)
	}
	player := in.Answer.player()
	if player != nil && player.Renamed.After(renamed) {
		renamed = player.Renamed
	}
	switch {
	case claims && player != nil && player.Key == i.Key() && player.Handle == name:
	case in.Session != nil && in.Session.Key != i.Key() || p.isNamed(name, i.Key()):
		return p.deny(r, errNameTaken)
	case p.keepsName(renamed):
		return p.deny(r, &wamble.Denied{
			Code:   wamble.AccessDenied,
			Reason: "you can change your name again on " + renamed.Add(MinNameAge).UTC().Format(time.DateOnly),
		})
	case p.shard.Of > 1:
		return p.deny(r, errAskedAlready)
	}
	p.rename(i.Key(), name)
	p.sealForKey(i.Key(), out)
	t := p.targetHere(r.session)
	if player != nil {
		t.stats = player.Stats
	}
	m := statsOf(&t)
	link.Answer(p.link, r.id, wire.Header{Token: r.h.Token}, m,
		append(p.scratch.fields[:0], wire.Int(wire.KeyStatsTargetSession, int64(t.session)),
			wire.Int(wire.KeyStatsTargetHasIdentity, 1), wire.String(wire.KeyStatsTargetHandle, t.handle))...)
	return done
}

// keepsName reports whether a player who was renamed at a time must still keep that name.
func (ru *rules) keepsName(renamed time.Time) bool {
	return !renamed.IsZero() && renamed.Add(MinNameAge).After(ru.clock.wall())
}

// isNamed reports whether an identity in memory has a name, other than that of key but. If the store
// assigns names (more than one shard), memory may be older than the store, and isNamed reports false.
func (p *Profile) isNamed(name string, but wamble.PublicKey) bool {
	if p.shard.Of > 1 {
		return false
	}
	key := p.sessions.KeyOf(name)
	return !key.IsZero() && key != but
}

// rename gives the identity of a key a name, here and in the store.
func (p *Profile) rename(key wamble.PublicKey, name string) {
	p.sessions.Rename(key, name, p.clock.wall())
	p.frame.Add(&intent.SetName{Key: key, Name: name, At: p.clock.now})
}

// Rename gives an identity a name by the host's command, whether it is in memory or only in the store. No
// other player may have the name in the store.
type Rename struct {
	Key  wamble.PublicKey
	Name string
}

func (in *Rename) apply(p *Profile, out *Output) {
	if !wamble.IsName(in.Name) || p.isNamed(in.Name, in.Key) || p.stage == failed {
		return
	}
	p.rename(in.Key, in.Name)
	p.sealForKey(in.Key, out)
	p.stats.Host.Renamed++
}
