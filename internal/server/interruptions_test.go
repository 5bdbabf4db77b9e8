package server

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wamble"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// interruptions has what happens to the processes of a server under load. Players lose and
// repeat nothing, whatever the topology.
var interruptions = []struct {
	name     string
	scenario func(p *processes)
	// in has the topologies of TestInterruptions; all are in TestInterruptionsEverywhere.
	in []*topology
}{
	{"stop", (*processes).stopOne, []*topology{oneLoop, fourShards, withStandby}},
	{"kill", (*processes).killOne, []*topology{oneLoop, fourShards}},
	{"handoff", (*processes).handOffEach, []*topology{fourShards, twoMachines}},
}

// TestInterruptions: players play in all places, over UDP and WebSocket, a reader reads every
// game that has ended, and observers receive every move, while processes are stopped, killed
// or replaced. Everybody plays on with their token; every accepted move is in the store once,
// and nothing else; the reader and the observers are told everything once; every board is in
// one shard, and players of several shards move on one board. Of two profiles each is one
// loop, and what they share is in TestNeighbourCrash and TestNeighbourHandoff.
func TestInterruptions(t *testing.T) {
	t.Parallel()
	for _, i := range interruptions {
		for _, tp := range i.in {
			t.Run(i.name+" "+tp.name, func(t *testing.T) {
				t.Parallel()
				tp.start(t, false, oneDies).interrupt(i.scenario)
			})
		}
	}
}

// processes is the servers of a topology, each in a process of its own.
type processes struct {
	*topology
	*testing.T
	db     postgres.Options // with Name "": the games are in a file
	nodes  []*image
	urls   []string // of HTTP
	crowd  *crowd
	tokens map[*player]wamble.Token
}

// lastNode numbers the addresses of machines, so that no two have one.
var lastNode atomic.Int32

// start starts the processes of a topology one after another, and waits until they serve or
// stand by. The first of several machines has all partitions at first.
func (tp *topology) start(t *testing.T, inPostgres bool, lease time.Duration) *processes {
	t.Helper()
	p := &processes{topology: tp, T: t}
	common := "(def max-moves-per-board 6) (def http-max-connections-per-ip 100)" + tp.options
	if tp.machines > 0 || inPostgres {
		p.db = pgtest.Migrated(t)
	}
	if tp.machines == 0 {
		if inPostgres {
			common += postgresConf(p.db)
		}
		i := spawnImage(t, staying(t, conf(common)))
		p.nodes, p.urls = []*image{i}, []string{"http://127.0.0.1:" + i.port}
		return p
	}
	port := freePorts(t, 1)[0]
	var ips []string
	for range tp.machines {
		ips = append(ips, fmt.Sprintf("127.0.2.%d", lastNode.Add(1)))
	}
	for i, ip := range ips {
		text := strings.NewReplacer("(def port 0)", fmt.Sprintf("(def port %d)", port),
			`(def listen-address "127.0.0.1")`, fmt.Sprintf("(def listen-address %q)", ip)).
			Replace(shared(p.db, fmt.Sprint("m", i+1)))
		p.nodes = append(p.nodes,
			newImage(t, text+common+fmt.Sprintf("(def cluster-endpoints %q)\n", strings.Join(ips, " "))))
		p.urls = append(p.urls, fmt.Sprintf("http://%s:%d", ip, port))
		p.nodes[i].lease = lease
		if p.launch(i); i == 0 {
			p.takenOver()
		}
	}
	p.settle()
	return p
}

// launch starts a process; one that stands by is not waited for.
func (p *processes) launch(i int) {
	p.Helper()
	if p.topology == withStandby && len(p.serving()) > 0 {
		p.nodes[i].begin()
		return
	}
	p.nodes[i].launch()
}

// serving returns the processes that serve players, by number.
func (p *processes) serving() (list []int) {
	for i, n := range p.nodes {
		if n.cmd != nil && n.cmd.ProcessState == nil && n.state(p) == "serves" {
			list = append(list, i)
		}
	}
	return list
}

// settle waits until each process serves its share, or stands by.
func (p *processes) settle() {
	p.Helper()
	switch p.topology {
	case twoMachines:
		until(p, "both machines serve two partitions", func() bool {
			all := slices.Concat(ownedPartitions(p, p.nodes[0].dir), ownedPartitions(p, p.nodes[1].dir))
			slices.Sort(all)
			return len(p.serving()) == 2 && slices.Equal(all, []int{0, 1, 2, 3}) &&
				len(ownedPartitions(p, p.nodes[0].dir)) == 2
		})
	case withStandby:
		until(p, "one machine serves and the other one waits", func() bool {
			on := p.serving()
			return len(on) == 1 && strings.HasPrefix(p.nodes[1-on[0]].state(p), "standby of ")
		})
	default:
		until(p, "it serves", func() bool { return len(p.serving()) == 1 })
	}
}

// takenOver waits until the only machine that runs serves in place of all.
func (p *processes) takenOver() {
	p.Helper()
	until(p, "the other machine serves", func() bool {
		on := p.serving()
		return len(on) == 1 && (p.topology != twoMachines || len(ownedPartitions(p, p.nodes[on[0]].dir)) == 4)
	})
}

// stopOne stops a process that serves, in order, and starts it again.
func (p *processes) stopOne() {
	i := p.serving()[0]
	p.nodes[i].end()
	if p.machines == 0 {
		p.journalIsEmpty(p.nodes[i].dir)
	}
	p.comeBack(i)
}

// comeBack starts a process again that has ended, when another one has taken over.
func (p *processes) comeBack(i int) {
	p.Helper()
	if p.machines > 0 {
		p.takenOver()
		p.crowd.more(p, 50)
	}
	p.launch(i)
	p.settle()
	p.crowd.more(p, 300)
}

// journalIsEmpty checks that a stop in order has brought everything to the store.
func (p *processes) journalIsEmpty(dir string) {
	p.Helper()
	r, err := runner.OpenReadOnly(pebblestore.At(JournalDir(dir), pebblestore.Options{}),
		runner.Options{Schema: JournalSchema})
	if err != nil {
		p.Fatal(err)
	}
	defer r.Close()
	if n := depth(r.Stats()); n != 0 {
		p.Errorf("%d messages are left in the journal", n)
	}
}

// killOne kills a process that serves, and starts it again.
func (p *processes) killOne() {
	for range kills() {
		i := p.serving()[0]
		p.nodes[i].kill()
		p.comeBack(i)
	}
}

// handOffEach replaces each serving process by its next one, twice, and then kills the only
// one: what it has taken over, it has as if it was its own.
func (p *processes) handOffEach() {
	on := p.serving()
	for _, i := range append(on, on...) {
		if _, err := p.nodes[i].handOff(""); err != nil {
			p.Fatal(err)
		}
		p.settle()
		p.crowd.more(p, 100)
		if left := p.nodes[i].leftovers(); len(left) > 0 {
			p.Errorf("the handoff has left %v", left)
		}
	}
	if len(on) == 1 {
		p.killOne()
	}
}

// open opens the games.
func (p *processes) open() store.Queries {
	p.Helper()
	if p.db.Name != "" {
		return openPostgres(p, p.db)
	}
	return openSQLite(p, p.nodes[0].dir)
}

// gather lets players join at each serving process, over UDP and WebSocket, until all shards
// have some.
func (p *processes) gather() {
	p.Helper()
	p.tokens = map[*player]wamble.Token{}
	p.crowd = &crowd{think: 50 * time.Millisecond} // a server keeps only so many moves for an observer that is away
	shards := map[int]bool{}
	until(p, "all shards have players", func() bool {
		for _, i := range p.serving() {
			address := strings.Replace(p.urls[i], "http:", "udp:", 1)
			if len(p.crowd.players)%3 == 0 {
				address = strings.Replace(p.urls[i], "http:", "ws:", 1) + "/ws"
			}
			one := join(p, address, wamble.Token{})
			if at := one.c.Token().Shard(4); p.topology == twoMachines &&
				!slices.Contains(ownedPartitions(p, p.nodes[i].dir), at) {
				p.Errorf("a player who came to machine %d is in shard %d, which another one has", i, at)
			}
			one.crowd, one.number = p.crowd, len(p.crowd.players)
			p.crowd.players = append(p.crowd.players, one)
			p.tokens[one] = one.c.Token()
			shards[one.c.Token().Shard(4)] = true
		}
		return len(p.crowd.players) >= 6 && (!p.sharded() || len(shards) == 4 && len(p.crowd.players) >= 16)
	})
}

// sharded reports whether the profile has four shards.
func (p *processes) sharded() bool { return strings.Contains(p.options, "(def shards 4)") }

// interrupt lets everybody play through a scenario, and checks what they were told.
func (p *processes) interrupt(scenario func(p *processes)) {
	var observers []*observer
	for i := range p.urls {
		if p.topology == withStandby {
			break // observers of a machine whose place a standby takes begin anew
		}
		next := i
		observers = append(observers, observeAll(p.T, p.topology != twoMachines, func() string { // when one does not answer the next one is asked
			next++
			return p.urls[(next-1)%len(p.urls)] + "/api/events"
		}))
	}
	for _, o := range observers {
		o.here()
	}
	p.gather()
	reader := newFeedReader(p)
	read := func() {
		for _, i := range p.serving() {
			reader.follow(p.urls[i])
		}
	}
	p.crowd.play()
	p.crowd.more(p, 200)
	read()
	scenario(p)
	read()
	db := p.finish()
	stored := 0
	for g, err := range db.Games(p.Context(), wamble.GameFilter{}) {
		if err != nil {
			p.Fatal(err)
		}
		stored += len(g.Moves)
	}
	for i, o := range observers {
		until(p, "the observer was told all moves", func() bool { moves, _ := o.seen(); return moves >= stored })
		if o.end(); o.moves != stored {
			p.Errorf("observer %d was told %d moves, want %d", i, o.moves, stored)
		}
	}
	ended := finished(p, db)
	until(p, "the reader has all games", func() bool { read(); return len(reader.told) >= len(ended) })
	reader.check(ended)
	if n := strings.Count(reader.cursor, "-"); p.topology == twoMachines && n != 4 {
		p.Errorf("the cursor %s has %d numbers, want one for each partition", reader.cursor, n)
	}
	p.end(db)
}

// finish lets everybody end their move, and waits until the store has everything.
func (p *processes) finish() store.Queries {
	p.Helper()
	db := p.open()
	if p.sharded() {
		until(p, "players meet boards of other shards", func() bool { return p.crowd.mixed(p, db) })
	}
	p.crowd.finish()
	until(p, "the store has everything", func() bool {
		return !slices.ContainsFunc(p.serving(), func(i int) bool { return pending(p.nodes[i].status()) > 0 })
	})
	if p.topology == twoMachines {
		arrived(p, p.db)
	}
	return db
}

// end stops all processes, and compares what the players were told with the store.
func (p *processes) end(db store.Queries) {
	p.Helper()
	if on := p.serving(); p.topology == withStandby && on[0] == 0 { // the standby ends first
		slices.Reverse(p.nodes)
	}
	for _, n := range p.nodes {
		n.end()
		if strings.Contains(n.log.String(), "damaged") {
			p.Error("a board is damaged")
		}
	}
	for one, token := range p.tokens {
		if one.c.Token() != token {
			p.Error("a player has another token")
		}
	}
	p.crowd.verify(p, db)
	if !p.sharded() {
		return
	}
	p.crowd.checkShards(p, db)
	ended := map[int]bool{} // shards with games that have ended
	for _, one := range p.crowd.players {
		at := one.c.Token().Shard(4)
		ended[at] = ended[at] || slices.ContainsFunc(one.played, func(m played) bool { return m.ply == 6 })
	}
	for at, some := range ended {
		if !some {
			p.Errorf("no game has ended in shard %d", at)
		}
	}
	if p.topology != twoMachines {
		return
	}
	if n := pgtest.Query[int](p, p.db, `SELECT count(*) FROM boards WHERE shard NOT BETWEEN 0 AND 3`); n > 0 {
		p.Errorf("%d boards are in no shard", n)
	}
}

// arrived waits until every board that was sent to another shard is there.
func arrived(t testing.TB, db postgres.Options) {
	t.Helper()
	until(t, "no board is under way",
		func() bool { return pgtest.Query[int](t, db, `SELECT count(*) FROM arrivals`) == 0 })
}
