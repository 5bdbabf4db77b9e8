package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wamble"
	"wamble/internal/admin"
	"wamble/internal/cluster"
	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/loop"
	"wamble/internal/profile"
	"wamble/internal/readapi"
	"wamble/internal/store"
	"wamble/internal/transport"
)

// Profile is a profile that runs: its shards, and what they share.
type Profile struct {
	server *Server
	name   string
	log    *slog.Logger
	store  *SharedStore
	shards []*Shard       // by index; at least one
	peers  *cluster.Peers // the other nodes; nil if the journal is not distributed

	restrictions   *admin.Restrictions
	restrictionsMu sync.Mutex // held by sendRestrictions
	gamesChanged   broadcast  // sent when finished games have reached the store
	events         readapi.Stream
	openShards     openShards
	bots           atomic.Pointer[houseBots] // nil if none run on this node

	background     sync.WaitGroup     // goroutines of countLoop and pollRemoteEvents
	stopBackground context.CancelFunc // ends them; nil before start
}

// start runs the shards on this node until stop. It may be called again after stop.
func (p *Profile) start() {
	p.setBots(true)
	for _, sh := range p.shards {
		sh.start()
	}
	var ctx context.Context
	ctx, p.stopBackground = context.WithCancel(context.Background())
	if len(p.shards) > 1 {
		p.background.Go(func() { guard.Run("the count of players", func() { p.countLoop(ctx) }, p.reportPanic) })
	}
	if p.peers != nil {
		p.background.Go(func() {
			guard.Run("events of other machines", func() { p.pollRemoteEvents(ctx) }, p.reportPanic)
		})
	}
}

// stop ends all shards in order: what was decided is durable and sent, and what the store
// lacks is in the journal. The sockets stay open.
func (p *Profile) stop() {
	p.setBots(false)
	if p.stopBackground != nil {
		p.stopBackground()
	}
	p.eachShard("the end of a shard", (*Shard).stop)
	p.background.Wait()
}

// Port returns the port of the first shard, which has the sockets of all; nil if the profile
// only drains its journal.
func (p *Profile) Port() *transport.Port { return p.shards[0].runtime.Port() }

// Config returns the configuration that is in effect.
func (p *Profile) Config() *config.Profile { return p.shards[0].runtime.Config() }

// reportPanic logs a panic that did not end the profile. It counts as one of the first shard.
func (p *Profile) reportPanic(err error) { p.shards[0].reportPanic(err) }

// shards returns all shards of all profiles that run.
func (s *Server) shards() (list []*Shard) {
	for _, p := range s.profiles() {
		list = append(list, p.shards...)
	}
	return list
}

// localShards returns the shards on this node.
func (p *Profile) localShards() []*Shard {
	return slices.DeleteFunc(slices.Clone(p.shards), (*Shard).isRemote)
}

// Restrictions implements loop.Server.
func (p *Profile) Restrictions() []profile.Input { return p.restrictions.Inputs() }

// Reservations implements loop.Server.
func (p *Profile) Reservations(ctx context.Context, key wamble.PublicKey) ([]wamble.Reservation, error) {
	return p.server.stores.reservations(ctx, key)
}

// SeparateStore reports whether a profile runs on another database than p. Name may be that of a shard.
func (p *Profile) SeparateStore(name string) bool {
	of, _ := store.SplitName(name)
	other := p.server.profile(of)
	return other != nil && other.store.Registry != p.store.Registry
}

// eachShard runs do for all shards concurrently, and waits.
func (p *Profile) eachShard(what string, do func(*Shard)) {
	var all sync.WaitGroup
	for _, sh := range p.shards {
		all.Go(func() { guard.Run(what, func() { do(sh) }, sh.reportPanic) })
	}
	all.Wait()
}

// shardOfToken returns the shard of a token, or the first one on this node if another node has it.
func (p *Profile) shardOfToken(t wamble.Token) *Shard {
	sh := p.shards[t.Shard(len(p.shards))]
	if here := p.localShards(); sh.isRemote() && len(here) > 0 {
		return here[0]
	}
	return sh
}

// moveTo gives each shard its port of a new set of ports.
func (p *Profile) moveTo(port *transport.Port) {
	for i, sh := range p.shards {
		away := sh.remotePort.End()
		sh.runtime.MoveTo(port.Shards()[i])
		if away {
			sh.forwardPackets()
		}
	}
}

// pauseReading holds the packets of all shards back, or lets them go on.
func (p *Profile) pauseReading(paused bool) {
	for _, sh := range p.shards {
		sh.runtime.PauseReading(paused)
	}
}

// drainWithin drains the journal of a stopped profile to its store. All shards drain
// concurrently, because the rows of one may depend on another's.
func (p *Profile) drainWithin(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	errs := make([]error, len(p.shards))
	p.eachShard("an empty journal", func(sh *Shard) { errs[sh.index] = sh.runtime.DrainAll(ctx) })
	return errors.Join(errs...)
}

// dropDrain ends the drains of all shards.
func (p *Profile) dropDrain() {
	for _, sh := range p.shards {
		sh.runtime.DropDrain()
	}
}

// StoreState returns the combined state of the store for the shards on this node.
func (p *Profile) StoreState() (all loop.StoreState) {
	for _, sh := range p.localShards() {
		all = all.Merge(sh.runtime.StoreState())
	}
	return all
}

// Stage returns the stage of a shard on this node that does not serve players, otherwise
// that of the first one here. Without a shard here the profile is not up.
func (p *Profile) Stage() (up bool, why string) {
	here := p.localShards()
	if len(here) == 0 {
		return false, p.server.waiting()
	}
	for _, sh := range slices.Backward(here) {
		if up, why = sh.runtime.Stage(); !up {
			return up, why
		}
	}
	return up, why
}

// Tell passes a host's command to the shards on this node and adds up their counts before
// and after it. Commands that only change the store, which tells the other shards, go to
// the first shard here. In a cluster all others also go to the other nodes. A shard that
// does not serve players is an error, which is returned after the others were told.
func (p *Profile) Tell(ctx context.Context, in profile.Input) (before, after profile.HostStats, err error) {
	shards := p.localShards()
	switch scope := profile.ScopeOf(in); scope {
	case profile.StoreChange, profile.StoreOnly:
		shards = shards[:min(1, len(shards))]
		if len(shards) == 0 {
			return before, after, errors.New("no part of the profile is on this machine: say it to another one")
		}
		if r, ok := in.(*profile.Rename); ok {
			err = p.claimName(ctx, r)
		}
		if err != nil {
			return before, after, err
		}
	case profile.EveryShard, profile.Sanction, profile.Restriction:
		if p.peers == nil {
			break
		}
		p.peers.Broadcast(p.name, in)     // nodes of an older release do not read the notes of restrictions
		if scope == profile.Restriction { // another node may change it at the same time
			p.sendRestrictions()
			return before, after, nil
		}
	default:
		return before, after, fmt.Errorf("%s is not a command of the host", profile.InputName(in))
	}
	for _, sh := range shards {
		b, a, no := sh.runtime.Tell(ctx, in)
		before, after, err = before.Add(b), after.Add(a), cmp.Or(err, no)
	}
	p.awaitPublished(ctx, shards, in)
	return before, after, err
}

// awaitPublished waits at most cluster.FlushTimeout until a command, or the news of its result in shards,
// is in the database for the other nodes to read.
func (p *Profile) awaitPublished(ctx context.Context, shards []*Shard, in profile.Input) {
	if p.peers == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, cluster.FlushTimeout)
	defer cancel()
	switch profile.ScopeOf(in) {
	case profile.StoreOnly:
		return
	case profile.StoreChange:
		for _, sh := range shards {
			sh.runtime.AwaitPublished(ctx)
		}
	}
	p.peers.FlushWithin(ctx, cluster.FlushTimeout)
}

// claimName reserves a name in the store before a shard gives it, because another shard may
// give it to another player at the same time.
func (p *Profile) claimName(ctx context.Context, in *profile.Rename) error {
	if len(p.shards) <= 1 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	now := time.Now()
	// It does not matter when the player last changed their name: since is in the future.
	player, err := p.store.Claim(ctx, in.Key, in.Name, now, now.Add(profile.MinNameAge))
	if err == nil && player.Handle != in.Name {
		err = fmt.Errorf("%q is the name of another player", in.Name)
	}
	return ignoreNotFound(err)
}

// Board looks for a board in all shards.
func (p *Profile) Board(ctx context.Context, id wamble.BoardID) (wamble.Board, bool) {
	for _, sh := range p.shards {
		if b, ok := sh.runtime.Board(ctx, id); ok {
			return b, true
		}
	}
	return wamble.Board{}, false
}

// Figures returns the sum of the figures of all shards.
func (p *Profile) Figures(ctx context.Context) loop.Figures {
	sum := p.shards[0].runtime.Figures(ctx)
	for _, sh := range p.shards[1:] {
		sum.Add(sh.runtime.Figures(ctx))
	}
	return sum
}

// seekInMemory looks for at most most present players in all shards. More says that there are others.
func (p *Profile) seekInMemory(ctx context.Context, of profile.Seek, most int) (found []profile.Present, more bool) {
	for _, sh := range p.shards {
		sh.runtime.Do(ctx, func(p *profile.Profile) {
			some, rest := p.Seek(of, most-len(found))
			found, more = append(found, some...), more || rest
		})
	}
	return found, more
}

// findInMemory looks for a player in the memory of all shards.
func (p *Profile) findInMemory(ctx context.Context, n admin.Named) (found admin.Found) {
	for _, sh := range p.shards {
		sh.runtime.Do(ctx, func(p *profile.Profile) {
			if found.Session, found.Key = p.FindSession(n.Token, n.Session, n.Handle); !n.Key.IsZero() {
				found.Key = p.KeyOwner(n.Key)
			}
		})
		if found != (admin.Found{}) {
			break
		}
	}
	return found
}

// addCounts adds the counts of one shard to c, and keeps the boards with most watchers.
func addCounts(c *readapi.Counts, more readapi.Counts) {
	c.Players += more.Players
	c.Bots += more.Bots
	c.Sessions += more.Sessions
	c.Watchers += more.Watchers
	c.Moves += more.Moves
	c.Games += more.Games
	for i, n := range more.Boards {
		c.Boards[i] += n
	}
	c.MostWatched = append(c.MostWatched, more.MostWatched...)
	slices.SortStableFunc(c.MostWatched, func(a, b readapi.Watched) int { return cmp.Compare(b.Watchers, a.Watchers) })
	c.MostWatched = c.MostWatched[:min(len(c.MostWatched), readapi.MostWatchedBoards)]
}

// findBoards returns at most most boards of all shards, those with the latest moves first.
func (p *Profile) findBoards(ctx context.Context, q profile.BoardQuery, most int) (list []profile.FoundBoard) {
	for _, sh := range p.shards {
		sh.runtime.Do(ctx, func(p *profile.Profile) { list = append(list, p.FindBoards(q, most)...) })
	}
	if len(p.shards) > 1 {
		slices.SortStableFunc(list, func(a, b profile.FoundBoard) int { return b.Moved.Compare(a.Moved) })
	}
	return list[:min(len(list), most)]
}
