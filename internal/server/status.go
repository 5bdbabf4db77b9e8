package server

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wamble"
	"wamble/internal/admin"
	"wamble/internal/cluster"
	"wamble/internal/loop"
	"wamble/runner"
)

// Status returns the state of the server, its profiles and its journal.
func (s *Server) Status(ctx context.Context) admin.Status {
	r := s.runner.Stats()
	status := admin.Status{
		PID: os.Getpid(), Uptime: wamble.InSeconds(time.Since(s.started)), Config: s.ConfigFile(), Data: s.dir,
		Admin: s.Admin(),
		Journal: admin.JournalStatus{
			State: r.State.String(), Durability: s.durability(), DeadLetters: r.DeadLetters,
		},
	}
	status.Draining, status.Handoff = s.running.draining.Load(), s.successor.Result()
	s.running.mu.RLock()
	status.Reload = s.running.reloaded
	s.running.mu.RUnlock()
	status.Backups = s.backupStatus()
	if s.isPartitioned() {
		status.Parts = s.partStatus()
		if s.isStandby() {
			status.Journal.State = s.waiting()
		}
		for _, part := range s.runners() {
			stats := part.Stats()
			status.Journal.DeadLetters += stats.DeadLetters
			if stats.State != runner.Running {
				status.Journal.State = stats.State.String()
			}
		}
	}
	if p := s.partitionOf(0); p != nil {
		r = p.runner.Stats()
	}
	for _, d := range s.removedProfiles() {
		q := d.profile.shards[0].runtime.Queue(&r)
		status.Departing = append(status.Departing, admin.Departing{Name: d.profile.name, Store: d.profile.store.Name,
			Depth: q.Depth, Age: wamble.InSeconds(q.OldestAge)})
	}
	for _, p := range s.profiles() {
		status.Profiles = append(status.Profiles, p.status(ctx))
	}
	return status
}

// ConfigFile returns the absolute path of the configuration file; "" without a file.
func (s *Server) ConfigFile() string {
	c := cmp.Or(s.config(), s.o.Config) // a standby has none in effect
	if path, err := filepath.Abs(c.File); err == nil && c.File != "" {
		return path
	}
	return c.File
}

// DataDir returns the data directory.
func (s *Server) DataDir() string { return s.dir }

// durability returns how the journal is made durable: "postgres", or the option durability.
func (s *Server) durability() string {
	if usesSharedJournal(s.o.Config) {
		return "postgres"
	}
	return s.o.Config.Server.Durability
}

func (p *Profile) status(ctx context.Context) admin.ProfileStatus {
	look, port := p.shards[0].runtime.Figures(ctx), p.Port()
	shards := p.shardStatus(ctx, &look)
	look.Up, look.Why = p.Stage()
	status := admin.ProfileStatus{
		Name: p.name, Ready: look.Up, Stage: look.Why,
		UDP: udpText(p, port), HTTP: port.TCPAddr().String(), Secure: port.Secured(), Store: p.store.Name,
		Away: look.Store.Away || look.Store.Refuses, Trouble: look.Store.Trouble,
		Boards:   map[string]int{},
		Sessions: look.Gauges.Players, Present: look.Gauges.LivePlayers, Moves: look.Stats.Moves,
		Depth: look.Queue.Depth, Age: wamble.InSeconds(look.Queue.OldestAge),
	}
	status.Shards = shards
	for _, sh := range p.shards {
		n, _ := sh.failures()
		status.Failures += n
	}
	status.Brownout, status.Bans = admin.BrownoutWords(p.restrictions.Brownout()), len(p.restrictions.Bans())
	for class, n := range look.Shed {
		if n > 0 {
			if status.Shed == nil {
				status.Shed = map[string]int{}
			}
			status.Shed[loop.ClassNames[class]] = int(n)
		}
	}
	for i, n := range look.Boards {
		status.Boards[wamble.BoardStatus(i).String()] = n
	}
	return status
}

// shardStatus returns the state of each shard; nil if there is one. It adds the figures of
// all but the first to sum.
func (p *Profile) shardStatus(ctx context.Context, sum *loop.Figures) (list []admin.ShardStatus) {
	if len(p.shards) == 1 {
		return nil
	}
	for i, sh := range p.shards {
		look := *sum
		if sh.isRemote() {
			_, why := sh.runtime.Stage()
			list = append(list, admin.ShardStatus{Stage: why, Away: true})
			continue
		}
		if i > 0 {
			look = sh.runtime.Figures(ctx)
		}
		list = append(list, admin.ShardStatus{
			Ready: look.Up, Stage: look.Why, Open: p.Port().IsOpen(i), Boards: look.Gauges.Boards,
			Sessions: look.Gauges.Players,
			Present:  look.Gauges.LivePlayers, Moves: look.Stats.Moves, Depth: look.Queue.Depth,
			Age: wamble.InSeconds(look.Queue.OldestAge),
		})
		if i > 0 {
			sum.Add(look)
		}
	}
	return list
}

// clusterStatusTimeout bounds the answers of other nodes to a status question.
const clusterStatusTimeout = 2 * time.Second

// nodeStatus returns the state of this node for the status of the cluster.
func (s *Server) nodeStatus(ctx context.Context) admin.NodeStatus {
	status := s.Status(ctx)
	n := admin.NodeStatus{Name: nodeName(s.o.Config), Version: s.o.Handoff.Version}
	if at := s.meshAddress.Load(); at != nil {
		n.Address = *at
	}
	n.Sum(&status)
	return n
}

// clusterStatus returns the state of all nodes, and the partitions without a holder.
func (s *Server) clusterStatus(ctx context.Context) (c admin.Cluster) {
	self := s.nodeStatus(ctx)
	self.Self = true
	c.Nodes = append(c.Nodes, self)
	if !s.isPartitioned() {
		return c
	}
	ctx, cancel := context.WithTimeout(ctx, clusterStatusTimeout)
	defer cancel()
	live, questions := s.partitionOwners.LiveNodes(), map[string]any{}
	for name := range live {
		if name != self.Name {
			questions[name] = nil
		}
	}
	cluster.AskEach(ctx, s.router, "node", questions, func(name string, n admin.NodeStatus, err error) {
		if err != nil {
			n = s.lastKnownNode(name, live[name].Address)
			n.Error = err.Error()
		}
		n.Name, n.Address = name, live[name].Address
		c.Nodes = append(c.Nodes, n)
	})
	seen, _ := s.sharedJournal.log.ClusterView(s.sharedJournal.name, s.partitionCount())
	for _, n := range seen.Lost {
		if _, lives := live[n.Name]; !lives && n.Name != self.Name {
			c.Nodes = append(c.Nodes, admin.NodeStatus{Name: n.Name, Address: n.Address, Lost: &n.Seen, Parts: []int{}})
		}
	}
	slices.SortFunc(c.Nodes, func(a, b admin.NodeStatus) int { return strings.Compare(a.Name, b.Name) })
	for part := range s.partitionCount() {
		node := s.partitionOwners.Owner(part).Node
		if node == "" && !slices.ContainsFunc(c.Nodes,
			func(n admin.NodeStatus) bool { return slices.Contains(n.Parts, part) }) {
			c.Free = append(c.Free, part)
		}
	}
	return c
}

// lastKnownNode returns what this node knows of another one without asking it.
func (s *Server) lastKnownNode(name, address string) admin.NodeStatus {
	n := admin.NodeStatus{Name: name, Address: address, Parts: []int{}}
	for part := range s.partitionCount() {
		if s.partitionOwners.Owner(part).Node != name {
			continue
		}
		n.Parts = append(n.Parts, part)
		for _, p := range s.profiles() {
			n.Players += s.rebalancer.peers.Counts(p.name).Count(part).Players
		}
	}
	return n
}
