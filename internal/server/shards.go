package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/host"
	"wamble/internal/loop"
	"wamble/internal/profile"
	"wamble/internal/readapi"
	"wamble/internal/transport"
)

// A profile of several shards has a supervisor for each. The supervisor of the first
// shard stands for the profile: the methods in this file apply to all of its shards.

// shards returns the supervisors of all shards, the first one first.
func (s *supervisor) shards() []*supervisor { return append([]*supervisor{s}, s.siblings...) }

// shards returns the supervisors of all shards of all profiles that run.
func (s *Server) shards() (list []*supervisor) {
	for _, sup := range s.supervisors() {
		list = append(list, sup.shards()...)
	}
	return list
}

// checkShards refuses a configuration whose number of shards differs from the database's,
// before this node claims a partition or sends a heartbeat. A database that does not
// answer is checked again by the loops (see checkAllFailed).
func (s *Server) checkShards(ctx context.Context) error {
	profiles, err := s.wantedProfiles(s.o.Config)
	if err != nil {
		return err
	}
	stores, err := OpenStores(profiles, s.dir)
	if err != nil {
		return err
	}
	defer CloseStores(stores)
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	for _, db := range stores {
		for _, name := range db.Profiles {
			cfg := profiles[slices.IndexFunc(profiles, func(p *config.Profile) bool { return p.Name == name })]
			if _, err := loop.CheckShards(ctx, db.Store, db.Name, name, cfg.Boards.Shards); errors.Is(err, loop.ErrShards) {
				return err
			}
		}
	}
	return nil
}

// localShards returns the supervisors of the shards on this node.
func (s *supervisor) localShards() []*supervisor {
	return slices.DeleteFunc(s.shards(), func(l *supervisor) bool { return l.isRemote() })
}

// otherRuntimes returns the runtimes of all shards but one.
func (s *supervisor) otherRuntimes(but int) (list []*loop.Runtime) {
	for i, l := range s.shards() {
		if i != but {
			list = append(list, l.Runtime)
		}
	}
	return list
}

// eachShard runs do for all shards concurrently, and waits.
func (s *supervisor) eachShard(what string, do func(*supervisor)) {
	var all sync.WaitGroup
	for _, l := range s.shards() {
		all.Go(func() { guard.Run(what, func() { do(l) }, l.reportPanic) })
	}
	all.Wait()
}

// shardOfToken returns the shard of a token, or the first one on this node if another node has it.
func (s *supervisor) shardOfToken(t wamble.Token) *supervisor {
	l := s.shards()[t.Shard(1+len(s.siblings))]
	if here := s.localShards(); l.isRemote() && len(here) > 0 {
		return here[0]
	}
	return l
}

// Shut ends all shards. With drain their journal is brought to the store until ctx ends.
func (s *supervisor) Shut(ctx context.Context, drain bool) {
	s.eachShard("the end of a profile", func(l *supervisor) { l.Runtime.Shut(ctx, drain) })
}

// MoveTo gives each shard its port of a new set of ports.
func (s *supervisor) MoveTo(p *transport.Port) {
	for i, l := range s.shards() {
		away := l.remotePort.end()
		l.Runtime.MoveTo(p.Shards()[i])
		if away {
			l.remotePort.begin(l)
		}
	}
}

func (s *supervisor) PauseReading(held bool) {
	for _, l := range s.shards() {
		l.Runtime.PauseReading(held)
	}
}

func (s *supervisor) Configure(cfg *config.Profile) {
	for _, l := range s.shards() {
		l.Runtime.Configure(cfg)
	}
}

// DrainAll drains all shards concurrently, because the rows of one may depend on another's.
func (s *supervisor) DrainAll(ctx context.Context) error {
	errs := make([]error, len(s.shards()))
	s.eachShard("an empty journal", func(l *supervisor) { errs[l.shard.Index] = l.Runtime.DrainAll(ctx) })
	return errors.Join(errs...)
}

func (s *supervisor) DrainRemoved(ctx context.Context) {
	s.eachShard("a departure", func(l *supervisor) { l.Runtime.DrainRemoved(ctx) })
}

func (s *supervisor) DropDrain() {
	for _, l := range s.shards() {
		l.Runtime.DropDrain()
	}
}

func (s *supervisor) ReleaseOwnership(ctx context.Context) {
	for _, l := range s.shards() {
		l.Runtime.ReleaseOwnership(ctx)
	}
}

func (s *supervisor) ForgetDatabase(ctx context.Context) (err error) {
	for _, l := range s.shards() {
		err = errors.Join(err, l.Runtime.ForgetDatabase(ctx))
	}
	return err
}

// StoreState returns the combined state of the store for the shards on this node.
func (s *supervisor) StoreState() (all loop.StoreState) {
	for _, l := range s.localShards() {
		all = all.Merge(l.Runtime.StoreState())
	}
	return all
}

// Stage returns the stage of a shard on this node that does not serve players, otherwise
// that of the first one here. Without a shard here the profile is not up.
func (s *supervisor) Stage() (up bool, why string) {
	here := s.localShards()
	if len(here) == 0 {
		_, why = s.Runtime.Stage()
		return false, why
	}
	for _, l := range slices.Backward(here) {
		if up, why = l.Runtime.Stage(); !up {
			return up, why
		}
	}
	return up, why
}

// Tell passes a host's command to the shards on this node and adds up their counts before
// and after it. Commands that only change the store, which tells the other shards, go to
// the first shard here. In a cluster all others also go to the other nodes. A shard that
// does not serve players is an error, which is returned after the others were told.
func (s *supervisor) Tell(ctx context.Context, in profile.Input) (before, after profile.HostStats, err error) {
	loops := s.localShards()
	switch scope := profile.ScopeOf(in); scope {
	case profile.StoreChange, profile.StoreOnly:
		loops = loops[:min(1, len(loops))]
		if len(loops) == 0 {
			return before, after, errors.New("no part of the profile is on this machine: say it to another one")
		}
		if r, ok := in.(*profile.Rename); ok {
			err = s.claimName(ctx, r)
		}
		if err != nil {
			return before, after, err
		}
	case profile.EveryShard, profile.Sanction, profile.Restriction:
		if s.peers == nil {
			break
		}
		s.peers.broadcastInput(s.name, in) // nodes of an older release do not read the notes of restrictions
		if scope == profile.Restriction {  // another node may change it at the same time
			s.sendRestrictions()
			return before, after, nil
		}
	default:
		return before, after, fmt.Errorf("%s is not a command of the host", profile.InputName(in))
	}
	for _, l := range loops {
		b, a, no := l.Runtime.Tell(ctx, in)
		before, after, err = before.Add(b), after.Add(a), cmp.Or(err, no)
	}
	s.awaitPublished(ctx, loops, in)
	return before, after, err
}

// awaitPublished waits at most flushTimeout until a command, or the news of its result in loops,
// is in the database for the other nodes to read.
func (s *supervisor) awaitPublished(ctx context.Context, loops []*supervisor, in profile.Input) {
	if s.peers == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	switch profile.ScopeOf(in) {
	case profile.StoreOnly:
		return
	case profile.StoreChange:
		for _, l := range loops {
			l.AwaitPublished(ctx)
		}
	}
	s.peers.flushWithin(ctx, flushTimeout)
}

// claimName reserves a name in the store before a shard gives it, because another shard may
// give it to another player at the same time.
func (s *supervisor) claimName(ctx context.Context, in *profile.Rename) error {
	if s.shard.Of <= 1 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	now := time.Now()
	p, err := s.store.Claim(ctx, in.Key, in.Name, now, now.Add(profile.MinNameAge)) // regardless of when the player last changed their name
	if err == nil && p.Handle != in.Name {
		err = fmt.Errorf("%q is the name of another player", in.Name)
	}
	return ignoreNotFound(err)
}

// Board looks for a board in all shards.
func (s *supervisor) Board(ctx context.Context, id wamble.BoardID) (wamble.Board, bool) {
	for _, l := range s.shards() {
		if b, ok := l.Runtime.Board(ctx, id); ok {
			return b, true
		}
	}
	return wamble.Board{}, false
}

// Figures returns the sum of the figures of all shards.
func (s *supervisor) Figures(ctx context.Context) loop.Figures {
	sum := s.Runtime.Figures(ctx)
	for _, l := range s.siblings {
		sum.Add(l.Runtime.Figures(ctx))
	}
	return sum
}

// seekInMemory looks for at most most present players in all shards. More says that there are others.
func (s *supervisor) seekInMemory(ctx context.Context, of profile.Seek, most int) (found []profile.Present, more bool) {
	for _, l := range s.shards() {
		l.Do(ctx, func(p *profile.Profile) {
			some, rest := p.Seek(of, most-len(found))
			found, more = append(found, some...), more || rest
		})
	}
	return found, more
}

// findInMemory looks for a player in the memory of all shards.
func (s *supervisor) findInMemory(ctx context.Context, n host.Named) (found host.Found) {
	for _, l := range s.shards() {
		l.Do(ctx, func(p *profile.Profile) {
			if found.Session, found.Key = p.FindSession(n.Token, n.Session, n.Handle); !n.Key.IsZero() {
				found.Key = p.KeyOwner(n.Key)
			}
		})
		if found != (host.Found{}) {
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
	c.Crowds = append(c.Crowds, more.Crowds...)
	slices.SortStableFunc(c.Crowds, func(a, b readapi.Crowd) int { return cmp.Compare(b.Watchers, a.Watchers) })
	c.Crowds = c.Crowds[:min(len(c.Crowds), readapi.MostCrowds)]
}

// playersPerShard is the number of players per open shard at which the next one opens.
// The last open shard closes when a quarter of the number that opened it has left.
var playersPerShard = 256 // less in tests

// openShardsFor returns how many of n shards shall be open for a number of players. Open is
// how many are open now.
func openShardsFor(players, open, n int) int {
	for open < n && players >= playersPerShard*open {
		open++
	}
	for open > 1 && players < playersPerShard*(open-1)*3/4 {
		open--
	}
	return open
}

// openShards tracks how many shards of a profile on this node take new players.
type openShards struct {
	totals loop.Totals
	next   atomic.Int64 // number of players at which the next shard opens
	mu     sync.Mutex   // guards open
	open   int
}

// The interval between two counts of the players of all shards, and the number of counts
// after which shards are told of each other.
const (
	countInterval   = 25 * time.Millisecond
	publishEveryNth = 10
)

// countLoop periodically opens and closes shards of the profile, and tells each shard the
// counts of the others, until ctx ends.
func (s *supervisor) countLoop(ctx context.Context) {
	loops := s.shards()
	var before *profile.ShardCounts
	for n := 0; ctx.Err() == nil; n++ {
		w := &profile.ShardCounts{Shards: make([]profile.ShardCount, len(loops))}
		remote := s.peers.counts(s.name)
		boards, news := 0, n%publishEveryNth == 0
		for i, l := range loops {
			if w.Shards[i] = l.Count(); l.isRemote() {
				w.Shards[i] = remote.count(i)
			}
			boards += w.Shards[i].Boards
			news = news || before.Shards[i].Watched != w.Shards[i].Watched
		}
		s.openShards.totals.SetRemote(remote.sum())
		full := boards >= s.Config().Boards.MaxBoards
		w.Open = s.updateOpen(func(i int) bool { return !full || w.Shards[i].Free > 0 })
		if s.peers != nil {
			w.Opened = s.openMask() | remote.open()
			w.Node = s.peers.s.router.number()
			s.peers.s.router.subscribe(s.name, slices.ContainsFunc(s.localShards(), func(l *supervisor) bool { return l.Count().Watched }))
		}
		if news = news || before.Open != w.Open || before.Opened != w.Opened; news {
			for _, l := range loops {
				l.SetShardCounts(w)
			}
		}
		before = w
		sleep(ctx, countInterval)
	}
}

// players returns the number of players on this node, with those whose sessions were
// offered and not used yet.
func (s *supervisor) players() (n int) {
	for _, l := range s.shards() {
		c := l.Count()
		n += c.Players + c.Offered
	}
	return n
}

// updateOpen opens and closes shards of this node according to its number of players, and
// returns how many shall be open. Of these, the port offers new players only to shards for
// which has reports a board.
func (s *supervisor) updateOpen(has func(shard int) bool) int {
	o, here := &s.openShards, s.localShards()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(here) == 0 {
		s.Port().SetOpenShards(0)
		return 0
	}
	o.open = openShardsFor(s.players(), max(1, min(o.open, len(here))), len(here))
	o.next.Store(int64(playersPerShard * o.open))
	s.Port().SetOpenShards(maskOf(here[:o.open], has))
	return o.open
}

// maskOf returns a bit mask of the shards that have boards. If none has, it is the first
// shard, which then refuses new players.
func maskOf(shards []*supervisor, has func(shard int) bool) (mask uint64) {
	for _, l := range shards {
		if has(l.shard.Index) {
			mask |= 1 << l.shard.Index
		}
	}
	return cmp.Or(mask, 1<<shards[0].shard.Index)
}

// openMask returns a bit mask of the shards of this node that shall be open.
func (s *supervisor) openMask() (mask uint64) {
	s.openShards.mu.Lock()
	defer s.openShards.mu.Unlock()
	here := s.localShards()
	for _, l := range here[:min(s.openShards.open, len(here))] {
		mask |= 1 << l.shard.Index
	}
	return mask
}

// onGrowth opens the next shard as soon as the number of players requires it, without waiting
// for the next count, so that a sudden rush of players is spread.
func (s *supervisor) onGrowth(players int) {
	if o := &s.openShards; int64(players) >= o.next.Load() && o.next.Load() > 0 {
		full := o.totals.Boards() >= s.Config().Boards.MaxBoards
		s.updateOpen(func(i int) bool { return !full || s.shards()[i].Count().Free > 0 })
	}
}

// showViews passes changed boards of one shard to the other shards and nodes that have watchers.
func (s *supervisor) showViews(from int, in *profile.BoardViews) {
	if s.peers != nil {
		s.peers.s.router.publishViews(s.name, in)
	}
	for i, l := range s.shards() {
		if i != from && l.Count().Watched {
			l.ShowViews(in)
		}
	}
}

// findBoards returns at most most boards of all shards, those with the latest moves first.
func (s *supervisor) findBoards(ctx context.Context, q profile.BoardQuery, most int) (list []profile.FoundBoard) {
	for _, l := range s.shards() {
		l.Do(ctx, func(p *profile.Profile) { list = append(list, p.FindBoards(q, most)...) })
	}
	if len(s.siblings) > 0 {
		slices.SortStableFunc(list, func(a, b profile.FoundBoard) int { return b.Moved.Compare(a.Moved) })
	}
	return list[:min(len(list), most)]
}
