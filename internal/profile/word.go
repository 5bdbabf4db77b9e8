package profile

import (
	"net/netip"
	"time"

	"wamble"
	"wamble/wire"
)

// Word is what the host tells a profile about its players. Only the fields that
// its Kind names count.
type Word struct {
	Notice wire.NoticeType // NoticeMaintenance or NoticeAnnouncement
	// Text is for the players; they keep wire.TextLimit bytes of it.
	Text     string
	Whom     Whom
	Until    time.Time // the end of a ban; zero: for ever
	Brownout Brownout
	Board    wamble.BoardID
}

// Whom is about one session, all sessions of one identity, or all that come from
// one network. Exactly one field is set.
type Whom struct {
	Token wamble.Token
	Key   wamble.PublicKey
	Net   netip.Prefix // a single address is a prefix of its whole length
}

// IsZero reports whether w is about nobody.
func (w Whom) IsZero() bool { return w == Whom{} }

// Brownout is what a profile does without so that the rest goes on. The zero
// value is full service.
type Brownout struct {
	NoNewSessions bool // who is not known yet is turned away
	NoPredictions bool // no new ones
	SlowWatching  bool // spectators get fewer updates
	ReadOnly      bool // nothing is decided: no moves, no hellos
}

// word does what the host says.
func (p *Profile) word(kind Kind, w *Word, out *Output) {
	if w == nil {
		w = &Word{}
	}
	switch kind {
	case Announce:
		p.announce(w)
	case Kick:
		p.kick(w, out)
	case Ban:
		p.ban(w, out)
	case Unban:
		p.mode.law.bans.remove(w.Whom)
	case SetBrownout:
		p.mode.law.brownout = w.Brownout
		p.audience.hall.Slow(w.Brownout.SlowWatching)
	case Erase:
		p.erase(w.Whom.Key, out)
	case Archive:
		p.archive(w.Board, out)
	case Purge:
		p.purge(out)
	}
}

// readOnly reports whether nothing may be decided: the journal has no room, or
// the host says so.
func (p *Profile) readOnly() bool { return p.mode.readOnly || p.mode.law.brownout.ReadOnly }
