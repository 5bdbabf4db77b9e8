package profile

import (
	"crypto/sha256"
	"math/rand/v2"
	"time"

	"wamble"
	"wamble/internal/access"
	"wamble/internal/board"
	"wamble/internal/config"
	"wamble/internal/journal"
	"wamble/internal/link"
	"wamble/internal/reward"
	"wamble/internal/session"
	"wamble/internal/tally"
)

// Profile is one running profile. It is driven from one goroutine:
//
//	p := profile.New(options)
//	p.Step(now, inputs, &out)   // Restore…, then Ready, then what happens
//	submit out.Frames as one group; ask out.Loads; lease out.Leases;
//	send out.Packets; be back at out.Next
type Profile struct {
	cfg            *config.Profile
	shard          wamble.Shard
	clock          clock
	randomness     randomness
	link           *link.Endpoint
	boards         *board.Pool
	sessions       *session.Table
	leases         *journal.Leases
	loads          loads
	unknownTokens  unknownTokens
	answerCache    answerCache
	watermarks     watermarks
	draft          draft
	seen           seen
	resuming       *resumption // nil unless the profile is restored from slices
	unstored       unstored
	pendingRewards pendingRewards
	cacheAges      cacheAges
	waitlist       waitlist
	transfers      transfers
	pendingTrust   map[wamble.SessionID]pendingTrust // commands about the trust in sessions that the store may not have
	policy         access.Policy
	brownout       Brownout
	stage          stage
	announcement   announcement
	standing       []Standing // announcements that stay
	merged         mergedKeys
	termsRecorded  [32]byte // hash of the terms whose text is in the journal
	storeAway      bool     // the store cannot be asked
	audience       audience
	rewards        rewards
	moveTally      tally.Table
	pages          pages // of the leaderboard
	scratch        scratch
	stats          Stats
	current        []byte // the packet in hand; nil: none
	shelved        []byte // boards that another process has written ahead of its snapshot
	boardsHeld     bool   // the number of boards in play must not change

	// Trap is called with every packet before it is handled, in tests.
	Trap func(packet []byte)
	// Watch is the clock with which Linked is measured; nil disables the measurement.
	Watch  func() time.Time
	linked time.Duration
}

// randomness is the only source of randomness. ChaCha8 is cryptographically strong, so a token reveals nothing
// about the next.
type randomness struct {
	source *rand.ChaCha8
	rng    *rand.Rand
	key    [32]byte // of offers and cookies
}

// New returns a profile without sessions and boards.
func New(o Options) *Profile {
	o = o.withDefaults()
	source := rand.NewChaCha8(o.Seed)
	start := o.Now.Round(0).UTC()
	p := &Profile{
		cfg:            o.Config,
		shard:          o.Shard,
		clock:          clock{epoch: start, now: start},
		randomness:     randomness{source, rand.New(source), sha256.Sum256(append(o.Seed[:], "seals"...))},
		link:           link.NewEndpoint(link.Config{}),
		leases:         journal.NewLeases(o.LeaseSize),
		loads:          newLoads(o.MaxLoads),
		pages:          pages{},
		unknownTokens:  newUnknownTokens(),
		answerCache:    newAnswerCache(),
		pendingRewards: newPendingRewards(),
		cacheAges:      newCacheAges(),
		rewards:        rewards{prizes: reward.NewPrizes()},
	}
	beginSmall(p.leases, o.Config)
	p.draft.clock, p.seen.clock = &p.clock, &p.clock
	p.policy.SetConfig(o.Config)
	p.link.SetConfig(p.linkConfig())
	p.link.SetShard(p.shard)
	p.link.SetKey(p.randomness.key)
	p.sessions = session.New(p.sessionOptions(), p.sessionIDs(), source)
	p.scratch.holds = p.holds
	p.boards = board.New(p.boardOptions(), numbers[wamble.BoardID](p, wamble.BoardIDs), p.randomness.rng)
	p.audience = p.newAudience(o)
	return p
}

// Name returns the name of the profile.
func (p *Profile) Name() string { return p.cfg.Name }

// Step applies inputs to a profile, and writes what follows from them to out. Now is Options.Now plus the
// time that has passed since: it is not the wall clock, which can be set (see WallClock). A now before the
// last one counts as the last one.
func (p *Profile) Step(now time.Time, inputs []Input, out *Output) {
	out.reset()
	p.clock.set(now)
	p.draft.frames = &out.Frames
	for _, in := range inputs {
		in.apply(p, out)
		p.current = nil
	}
	p.link.Due(p.clock.since, &out.Packets)
	if p.stage != failed {
		p.runTimers(out)
	}
	p.seal(out)
	p.showSpectators()
	out.BoardViews = append(out.BoardViews, p.transfers.views...)
	p.transfers.views = p.transfers.views[:0]
	out.Newcomers = p.sessions.TakeNewcomers(out.Newcomers)
	if p.stage == failed {
		out.withdraw() // its decisions can never become durable
	}
	p.link.Release(p.clock.since, p.watermarks.durable, &out.Packets)
	p.requestLeases(out)
	out.Next = p.nextTimer()
	if p.shard.Of > 1 {
		p.transfers.count = p.count()
	}
	p.stats.Steps++
}
