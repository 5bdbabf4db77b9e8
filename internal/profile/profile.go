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
	rules
	network
	people
	pool
	decisions
	storeView
	restoring
	randomness    randomness
	stage         stage
	announcements announcements
	audience      audience
	rewards       rewards
	scratch       scratch
	stats         Stats
}

// rules is what all decisions of a step depend on: its time, the configuration, the policy, and what the
// host has switched off.
type rules struct {
	clock    clock
	cfg      *config.Profile
	shard    wamble.Shard
	policy   access.Policy
	brownout Brownout
}

// network is the link to the players, and the packet that is being handled.
type network struct {
	link          *link.Endpoint
	currentPacket []byte // nil if none is
	// BeforePacket is called with every packet before it is handled, in tests.
	BeforePacket func(packet []byte)
	// Clock measures linkTime; nil disables the measurement.
	Clock    func() time.Time
	linkTime time.Duration // during which the link has handled packets
}

// people is the sessions and identities in memory, and the players who wait for a board.
type people struct {
	sessions *session.Table
	waitlist waitlist
	merged   mergedKeys
}

// pool is the boards in memory, those under way between shards, and how often moves were played in openings.
type pool struct {
	boards    *board.Pool
	transfers transfers
	frozen    bool // the number of boards in play must not change
	moveTally tally.Table
}

// decisions is what is written to the journal, how far it has come on the way to the store, and the numbers
// for new rows.
type decisions struct {
	frame         frame
	droppable     droppable
	watermarks    watermarks
	leases        *journal.Leases
	termsRecorded [32]byte // hash of the terms whose text is in the journal
}

// storeView is the queries to the store, what is remembered of their answers, and about what the store cannot
// be asked yet.
type storeView struct {
	storeAway     bool // the store cannot be asked
	loads         loads
	unknownTokens unknownTokens
	answerCache   answerCache
	unstored      unstored
}

// restoring is what the profile is restored from, while it is.
type restoring struct {
	resuming *resumption // nil unless it is restored from slices
	waiting  []Packet    // of a handoff, until Ready
}

func newStoreView(maxLoads int) storeView {
	return storeView{
		loads: newLoads(maxLoads), unknownTokens: newUnknownTokens(), answerCache: newAnswerCache(),
	}
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
		rules:      rules{cfg: o.Config, shard: o.Shard, clock: clock{epoch: start, now: start}},
		network:    network{link: link.NewEndpoint(link.Config{})},
		decisions:  decisions{leases: journal.NewLeases(o.LeaseSize)},
		storeView:  newStoreView(o.MaxLoads),
		randomness: randomness{source, rand.New(source), sha256.Sum256(append(o.Seed[:], "seals"...))},
		rewards:    rewards{prizes: reward.NewPrizes()},
	}
	beginSmall(p.leases, o.Config)
	p.frame.clock, p.droppable.clock = &p.clock, &p.clock
	p.policy.SetConfig(o.Config)
	p.link.SetConfig(p.linkConfig())
	p.link.SetShard(p.shard)
	p.link.SetKey(p.randomness.key)
	p.sessions = session.New(p.sessionOptions(), p.sessionIDs(), source)
	p.scratch.holds = p.holds
	p.scratch.connected = p.connected
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
	p.frame.frames = &out.Frames
	for _, in := range inputs {
		in.apply(p, out)
		p.currentPacket = nil
	}
	p.link.Due(p.clock.since, &out.Packets)
	if p.stage != failed {
		p.runTimers(out)
	}
	p.seal(out)
	p.takeStale(out)
	p.showSpectators()
	out.BoardViews = append(out.BoardViews, p.transfers.views...)
	p.transfers.views = p.transfers.views[:0]
	out.Newcomers = p.sessions.TakeNewcomers(out.Newcomers)
	if p.stage == failed {
		out.discardDecisions() // its decisions can never become durable
	}
	p.link.Release(p.clock.since, p.watermarks.durable, &out.Packets)
	p.requestLeases(out)
	out.Next = p.nextTimer()
	if p.shard.Of > 1 {
		p.transfers.count = p.count()
	}
	p.stats.Steps++
}
