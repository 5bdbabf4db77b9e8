package profile

import (
	"time"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/config"
	"wamble/internal/link"
	"wamble/internal/predict"
	"wamble/internal/session"
	"wamble/internal/spectate"
)

// Options configures a new Profile.
type Options struct {
	// Config is the host's configuration; the input Configure replaces it.
	Config *config.Profile
	// Seed is the source of all randomness, tokens included: 32 bytes of crypto/rand, never used twice.
	Seed [32]byte
	// Now is the wall time at the start.
	Now time.Time
	// LeaseSize is how many numbers are leased at a time; 16384 if 0. A sequence that is used faster keeps more
	// in stock, which must last while the store is away.
	LeaseSize int
	// Shard says which shard of the profile this is.
	Shard wamble.Shard `json:",omitzero"`
	// MaxLoads bounds the loads under way; 1024 if 0.
	MaxLoads int
}

func (o Options) withDefaults() Options {
	if o.LeaseSize == 0 {
		o.LeaseSize = 16384
	}
	if o.MaxLoads == 0 {
		o.MaxLoads = 1024
	}
	return o
}

// Configure replaces the configuration.
type Configure struct{ Config *config.Profile }

func (in *Configure) apply(p *Profile, _ *Output) {
	c := in.Config
	if c == nil {
		return // a damaged recording
	}
	p.cfg = c
	p.policy.SetConfig(c)
	p.audience.predictions.Reconfigure(predictOptions(c))
	p.audience.spectators.Reconfigure(p.spectateOptions())
	p.link.SetConfig(p.linkConfig())
	p.sessions.Reconfigure(p.sessionOptions())
	p.boards.Reconfigure(p.boardOptions())
}

// firstWait is the shortest first wait for an ACK: copies that come sooner fill the socket of an old
// client, which loses its own ACK.
const firstWait = 250 * time.Millisecond

// linkConfig returns the options of package link.
func (p *Profile) linkConfig() link.Config {
	l := &p.cfg.Link
	cfg := link.Config{
		Sends:          max(l.MaxRetries, 1),
		FirstWait:      max(l.Timeout, firstWait),
		MinWait:        l.Timeout,
		MaxWait:        l.RTOCap,
		ReplayTTL:      l.TerminalCacheTTL,
		SessionTimeout: l.SessionTimeout,
		MaxPaths:       l.MaxClientSessions,
		TokenRate:      l.RateLimit,
		HostRate:       l.RateLimitIP,
		FirstSeq:       p.firstSeq,
	}
	if cfg.ReplayTTL == 0 {
		cfg.ReplayTTL = -1
	}
	if p.policy.Rules("rate_limit.bypass") {
		cfg.Bypass = p.bypasses
	}
	return cfg
}

// firstSeq returns a random number that an earlier process has hardly used, far from the wrap-around.
func (p *Profile) firstSeq() uint32 { return 2 + p.randomness.rng.Uint32()>>1 }

// sessionOptions returns the options of package session.
func (p *Profile) sessionOptions() session.Options {
	c := p.cfg
	s := &c.Sessions
	return session.Options{
		MaxPlayers:    max(0, s.MaxPlayers-p.transfers.others.Players),
		Unconfirmed:   s.UnconfirmedTimeout,
		Away:          min(c.Link.SessionTimeout, s.TokenExpiration),
		Expiration:    s.TokenExpiration,
		Lifetime:      time.Duration(s.TokenLifetime) * 24 * time.Hour,
		NewPerHost:    s.NewPlayersPerIP,
		Logins:        s.LoginAttempts,
		TokenAttempts: s.MaxTokenAttempts,
		DefaultRating: float64(c.Scoring.DefaultRating),
		Shard:         p.shard,
	}
}

// boardOptions returns the options of package board.
func (p *Profile) boardOptions() board.Options {
	b, a := &p.cfg.Boards, &p.cfg.Assignment
	least, inTransit := b.MinBoards, p.transfers.inTransit(p.clock.now, p.stats.Sent)
	if p.shard.Index > 0 {
		least = 0 // the first shard has them
	}
	return board.Options{
		MinBoards:        least,
		MaxBoards:        max(0, b.MaxBoards-p.transfers.others.Boards-inTransit),
		PerPlayer:        b.PerPlayer,
		Chess960Interval: b.Chess960Interval,
		MaxMoves:         b.MaxMoves,
		Inactivity:       b.InactivityTimeout,
		Reservation:      b.ReservationTimeout,
		Away:             min(b.AwayTimeout, b.InactivityTimeout),
		Disconnect:       min(b.DisconnectTimeout, b.InactivityTimeout),
		IdentityAway:     b.IdentityAwayTimeout,
		New:              board.Multipliers{Early: a.NewEarly, Mid: a.NewMid, End: a.NewEnd},
		Experienced:      board.Multipliers{Early: a.ExperiencedEarly, Mid: a.ExperiencedMid, End: a.ExperiencedEnd},
	}
}

// predictOptions returns the options of package predict.
func predictOptions(c *config.Profile) predict.Options {
	o := &c.Predictions
	modes := map[string]predict.Mode{
		"off": predict.Off, "holder": predict.Holder, "streak": predict.Streak, "gated": predict.Gated,
	}
	return predict.Options{
		Mode: modes[o.Mode], Base: o.BasePoints, Multiplier: o.StreakMultiplier, Cap: o.StreakCap,
		Penalty: o.PenaltyIncorrect,
		Percent: o.GatedPercent, Depth: o.ViewDepthLimit, AnyPromotion: o.MatchPolicy == "from-to-only",
		MaxPending: o.MaxPending, MaxPerParent: o.MaxPerParent, OnePerMove: o.EnforceMoveDuplicate,
	}
}

// spectateOptions returns the options of package spectate.
func spectateOptions(c *config.Profile) spectate.Options { return spectateBeside(c, 0) }

// spectateOptions subtracts the spectators of other shards from the limit.
func (p *Profile) spectateOptions() spectate.Options {
	return spectateBeside(p.cfg, p.transfers.others.Spectators)
}

func spectateBeside(c *config.Profile, others int) spectate.Options {
	o := &c.Spectators
	most := o.MaxSpectators
	if most >= 0 {
		most = max(0, most-others)
	}
	return spectate.Options{
		Max: most, Records: c.Link.MaxClientSessions, AdminTrust: o.AdminTrustLevel, Visibility: o.Visibility,
		SummaryHz: o.SummaryHz, FocusHz: o.FocusHz, Focus: o.MaxFocus > 0, Full: o.SummaryMode == "full",
		PerWatcher: o.PacketsPerWatcher, Total: o.PacketsPerProfile, Idle: c.Link.SessionTimeout,
	}
}
