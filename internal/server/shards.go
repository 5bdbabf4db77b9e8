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

// loops returns the supervisors of all shards, the first one first.
func (k *supervisor) loops() []*supervisor { return append([]*supervisor{k}, k.siblings...) }

// loops returns the supervisors of all shards of all profiles that run.
func (s *Server) loops() (list []*supervisor) {
	for _, k := range s.supervisors() {
		list = append(list, k.loops()...)
	}
	return list
}

// checkShards refuses a configuration whose number of shards differs from the database's,
// before this node claims a partition or sends a heartbeat. A database that does not
// answer is checked again by the loops (see checkAllFailed).
func (s *Server) checkShards(ctx context.Context) error {
	profiles, err := s.wanted(s.o.Config)
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

// here returns the supervisors of the shards on this node.
func (k *supervisor) here() []*supervisor {
	return slices.DeleteFunc(k.loops(), func(l *supervisor) bool { return l.isAway() })
}

// others returns the runtimes of all shards but one.
func (k *supervisor) others(but int) (list []*loop.Runtime) {
	for i, l := range k.loops() {
		if i != but {
			list = append(list, l.Runtime)
		}
	}
	return list
}

// each runs do for all shards concurrently, and waits.
func (k *supervisor) each(what string, do func(*supervisor)) {
	var all sync.WaitGroup
	for _, l := range k.loops() {
		all.Go(func() { guard.Run(what, func() { do(l) }, l.caught) })
	}
	all.Wait()
}

// of returns the shard of a token, or the first one on this node if another node has it.
func (k *supervisor) of(t wamble.Token) *supervisor {
	l := k.loops()[t.Shard(1+len(k.siblings))]
	if here := k.here(); l.isAway() && len(here) > 0 {
		return here[0]
	}
	return l
}

// Shut ends all shards. With drain their journal is brought to the store until ctx ends.
func (k *supervisor) Shut(ctx context.Context, drain bool) {
	k.each("the end of a profile", func(l *supervisor) { l.Runtime.Shut(ctx, drain) })
}

// MoveTo gives each shard its port of a new set of ports.
func (k *supervisor) MoveTo(p *transport.Port) {
	for i, l := range k.loops() {
		away := l.absent.end()
		l.Runtime.MoveTo(p.Shards()[i])
		if away {
			l.absent.begin(l)
		}
	}
}

func (k *supervisor) Hold(held bool) {
	for _, l := range k.loops() {
		l.Runtime.Hold(held)
	}
}

func (k *supervisor) Configure(cfg *config.Profile) {
	for _, l := range k.loops() {
		l.Runtime.Configure(cfg)
	}
}

// Empty drains all shards concurrently, because the rows of one may depend on another's.
func (k *supervisor) Empty(ctx context.Context) error {
	errs := make([]error, len(k.loops()))
	k.each("an empty journal", func(l *supervisor) { errs[l.shard.Index] = l.Runtime.Empty(ctx) })
	return errors.Join(errs...)
}

func (k *supervisor) Depart(ctx context.Context) {
	k.each("a departure", func(l *supervisor) { l.Runtime.Depart(ctx) })
}

func (k *supervisor) DropDrain() {
	for _, l := range k.loops() {
		l.Runtime.DropDrain()
	}
}

func (k *supervisor) Disown(ctx context.Context) {
	for _, l := range k.loops() {
		l.Runtime.Disown(ctx)
	}
}

func (k *supervisor) Moved() {
	for _, l := range k.loops() {
		l.Runtime.Moved()
	}
}

// StoreState returns the combined state of the store for the shards on this node.
func (k *supervisor) StoreState() (all loop.StoreState) {
	for _, l := range k.here() {
		all = all.And(l.Runtime.StoreState())
	}
	return all
}

// Stage returns the stage of a shard on this node that does not serve players, otherwise
// that of the first one here. Without a shard here the profile is not up.
func (k *supervisor) Stage() (up bool, why string) {
	here := k.here()
	if len(here) == 0 {
		_, why = k.Runtime.Stage()
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
func (k *supervisor) Tell(ctx context.Context, in profile.Input) (before, after profile.HostStats, err error) {
	loops := k.here()
	switch in.(type) {
	case *profile.Purge, *profile.Trust, *profile.Rename, *profile.Merge:
		loops = loops[:min(1, len(loops))]
		if len(loops) == 0 {
			return before, after, errors.New("no part of the profile is on this machine: say it to another one")
		}
		if r, ok := in.(*profile.Rename); ok {
			err = k.claim(ctx, r)
		}
		if err != nil {
			return before, after, err
		}
	case *profile.SetBrownout, *profile.Stand:
		if k.abroad != nil { // another node may change it at the same time
			k.abroad.tell(k.name, in) // for nodes of an older release, which do not read the notes
			k.tellState()
			return before, after, nil
		}
	default:
		if k.abroad != nil {
			k.abroad.tell(k.name, in)
		}
	}
	for _, l := range loops {
		b, a, no := l.Runtime.Tell(ctx, in)
		before, after, err = before.Plus(b), after.Plus(a), cmp.Or(err, no)
	}
	k.posted(ctx, loops, in)
	return before, after, err
}

// posted waits at most lettersTime until a command, or the news of its result in loops,
// is in the database for the other nodes to read.
func (k *supervisor) posted(ctx context.Context, loops []*supervisor, in profile.Input) {
	if k.abroad == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lettersTime)
	defer cancel()
	switch in.(type) {
	case *profile.Purge:
		return
	case *profile.Trust, *profile.Rename, *profile.Merge: // other nodes receive them as news
		for _, l := range loops {
			l.AwaitTold(ctx)
		}
	}
	k.abroad.flushFor(ctx, lettersTime)
}

// claim reserves a name in the store before a shard gives it, because another shard may
// give it to another player at the same time.
func (k *supervisor) claim(ctx context.Context, in *profile.Rename) error {
	if k.shard.Of <= 1 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storedTime)
	defer cancel()
	now := time.Now()
	p, err := k.store.Claim(ctx, in.Key, in.Name, now, now.Add(profile.NameKept)) // regardless of when the player last changed their name
	if err == nil && p.Handle != in.Name {
		err = fmt.Errorf("%q is the name of another player", in.Name)
	}
	return notThere(err)
}

// Board looks for a board in all shards.
func (k *supervisor) Board(ctx context.Context, id wamble.BoardID) (wamble.Board, bool) {
	for _, l := range k.loops() {
		if b, ok := l.Runtime.Board(ctx, id); ok {
			return b, true
		}
	}
	return wamble.Board{}, false
}

// Look returns the sum of the figures of all shards.
func (k *supervisor) Look(ctx context.Context) loop.Figures {
	sum := k.Runtime.Look(ctx)
	for _, l := range k.siblings {
		sum.Add(l.Runtime.Look(ctx))
	}
	return sum
}

// seek looks for at most most present players in all shards. More says that there are others.
func (k *supervisor) seek(ctx context.Context, of profile.Seek, most int) (found []profile.Present, more bool) {
	for _, l := range k.loops() {
		l.Do(ctx, func(p *profile.Profile) {
			some, rest := p.Seek(of, most-len(found))
			found, more = append(found, some...), more || rest
		})
	}
	return found, more
}

// who looks for a player in the memory of all shards.
func (k *supervisor) who(ctx context.Context, n host.Named) (found host.Found) {
	for _, l := range k.loops() {
		l.Do(ctx, func(p *profile.Profile) {
			if found.Session, found.Key = p.Who(n.Token, n.Session, n.Handle); !n.Key.IsZero() {
				found.Key = p.WhoseKey(n.Key)
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

// openFor returns how many of n shards shall be open for a number of players. Open is
// how many are open now.
func openFor(players, open, n int) int {
	for open < n && players >= playersPerShard*open {
		open++
	}
	for open > 1 && players < playersPerShard*(open-1)*3/4 {
		open--
	}
	return open
}

// opening tracks how many shards of a profile on this node take new players.
type opening struct {
	totals loop.Totals
	next   atomic.Int64 // number of players at which the next shard opens
	mu     sync.Mutex   // guards open
	open   int
}

// The interval between two counts of the players of all shards, and the number of counts
// after which shards are told of each other.
const (
	countEvery = 25 * time.Millisecond
	tellEvery  = 10
)

// count periodically opens and closes shards of the profile, and tells each shard the
// counts of the others, until ctx ends.
func (k *supervisor) count(ctx context.Context) {
	loops := k.loops()
	var before *profile.World
	for n := 0; ctx.Err() == nil; n++ {
		w := &profile.World{Shards: make([]profile.ShardCount, len(loops))}
		elsewhere := k.abroad.counts(k.name)
		boards, news := 0, n%tellEvery == 0
		for i, l := range loops {
			if w.Shards[i] = l.Count(); l.isAway() {
				w.Shards[i] = elsewhere.of(i)
			}
			boards += w.Shards[i].Boards
			news = news || before.Shards[i].Watched != w.Shards[i].Watched
		}
		k.opening.totals.Elsewhere(elsewhere.sum())
		full := boards >= k.Config().Boards.MaxBoards
		w.Open = k.reopen(func(i int) bool { return !full || w.Shards[i].Free > 0 })
		if k.abroad != nil {
			w.Opened = k.opened() | elsewhere.open()
			w.Node = k.abroad.s.junction.number()
			k.abroad.s.junction.watch(k.name, slices.ContainsFunc(k.here(), func(l *supervisor) bool { return l.Count().Watched }))
		}
		if news = news || before.Open != w.Open || before.Opened != w.Opened; news {
			for _, l := range loops {
				l.TellWorld(w)
			}
		}
		before = w
		wait(ctx, countEvery)
	}
}

// players returns the number of players on this node, with those whose sessions were
// offered and not used yet.
func (k *supervisor) players() (n int) {
	for _, l := range k.loops() {
		c := l.Count()
		n += c.Players + c.Offered
	}
	return n
}

// reopen opens and closes shards of this node according to its number of players, and
// returns how many shall be open. Of these, the port offers new players only to shards for
// which has reports a board.
func (k *supervisor) reopen(has func(shard int) bool) int {
	o, here := &k.opening, k.here()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(here) == 0 {
		k.Port().SetOpenShards(0)
		return 0
	}
	o.open = openFor(k.players(), max(1, min(o.open, len(here))), len(here))
	o.next.Store(int64(playersPerShard * o.open))
	k.Port().SetOpenShards(maskOf(here[:o.open], has))
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

// opened returns a bit mask of the shards of this node that shall be open.
func (k *supervisor) opened() (mask uint64) {
	k.opening.mu.Lock()
	defer k.opening.mu.Unlock()
	here := k.here()
	for _, l := range here[:min(k.opening.open, len(here))] {
		mask |= 1 << l.shard.Index
	}
	return mask
}

// grown opens the next shard as soon as the number of players requires it, without waiting
// for the next count, so that a sudden rush of players is spread.
func (k *supervisor) grown(players int) {
	if o := &k.opening; int64(players) >= o.next.Load() && o.next.Load() > 0 {
		full := o.totals.Boards() >= k.Config().Boards.MaxBoards
		k.reopen(func(i int) bool { return !full || k.loops()[i].Count().Free > 0 })
	}
}

// show passes changed boards of one shard to the other shards and nodes that have watchers.
func (k *supervisor) show(from int, in *profile.Sights) {
	if k.abroad != nil {
		k.abroad.s.junction.show(k.name, in)
	}
	for i, l := range k.loops() {
		if i != from && l.Count().Watched {
			l.See(in)
		}
	}
}

// findBoards returns at most most boards of all shards, those with the latest moves first.
func (k *supervisor) findBoards(ctx context.Context, q profile.BoardQuery, most int) (list []profile.FoundBoard) {
	for _, l := range k.loops() {
		l.Do(ctx, func(p *profile.Profile) { list = append(list, p.FindBoards(q, most)...) })
	}
	if len(k.siblings) > 0 {
		slices.SortStableFunc(list, func(a, b profile.FoundBoard) int { return b.Moved.Compare(a.Moved) })
	}
	return list[:min(len(list), most)]
}
