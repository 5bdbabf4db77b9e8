package server

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"wamble/internal/loader"
	"wamble/internal/store/postgres/pgtest"
)

// BenchmarkNodes compares a cluster of one machine with one of two, each with a quarter of a
// core, while the loader and PostgreSQL with its synchronous standby have the rest: accepted
// moves a second, their ratio, and the processor time of every process for a move. Two
// machines that share nothing give the best ratio of this computer; ratio-apart is the share
// of it that the cluster of two reaches. It begins after 25 s of play: for the first 20 s a
// machine sends its events to the others, as observers of a moved partition may return.
func BenchmarkNodes(b *testing.B) {
	const clients = 128 // of each machine
	primary := pgtest.Start(b, true)
	standby := primary.Standby(b)
	var postmasters []int
	for _, c := range []*pgtest.Cluster{primary, standby} {
		postmasters = append(postmasters,
			pgtest.Query[int](b, c.Server(), `SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int`))
	}
	database := func() (used time.Duration) {
		for _, pid := range postmasters {
			used += cpuTime(func(_, parent int) bool { return parent == pid })
		}
		return used
	}
	kinds := []struct {
		name          string
		worlds, nodes int // per cluster
	}{{"1", 1, 1}, {"2", 1, 2}, {"apart", 2, 1}}
	moves, spent := map[string]float64{}, map[string]time.Duration{}
	for b.Loop() {
		for _, kind := range kinds {
			var nodes []*child
			for range kind.worlds {
				db := primary.Migrated(b)
				for n := range kind.nodes {
					dir := b.TempDir()
					c := spawn(b, dir, staying(b,
						clusterConf(db, fmt.Sprint("n", n)))+fmt.Sprintf("(def min-boards %d)\n", 4*clients))
					limit(b, c.cmd.Process.Pid, 0.25)
					until(b, "every machine has its share",
						func() bool { return len(ownedPartitions(b, dir)) == 4/(n+1) })
					nodes = append(nodes, c)
				}
			}
			loadAll(b, nodes, clients, 25*time.Second)
			before := database()
			var each []time.Duration
			for _, c := range nodes {
				each = append(each, cpuOf(c.cmd.Process.Pid))
			}
			own := cpuOf(os.Getpid())
			moves[kind.name] += loadAll(b, nodes, clients, 10*time.Second)
			spent[kind.name+"-loader"] += cpuOf(os.Getpid()) - own
			spent[kind.name+"-postgres"] += database() - before
			for n, c := range nodes {
				spent[kind.name+"-nodes"] += cpuOf(c.cmd.Process.Pid) - each[n]
				c.end()
			}
		}
	}
	for _, kind := range kinds {
		n := moves[kind.name]
		b.ReportMetric(n/10/float64(b.N), kind.name+"-moves/s")
		for _, who := range []string{"-nodes", "-postgres", "-loader"} {
			b.ReportMetric(float64(spent[kind.name+who].Microseconds())/n, kind.name+who+"-µs/move")
		}
	}
	b.ReportMetric(moves["2"]/moves["1"], "ratio")
	b.ReportMetric(moves["2"]/moves["apart"], "ratio-apart")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkShards compares the processor time of a move in a profile of four shards in one
// process with that of one shard.
func BenchmarkShards(b *testing.B) {
	const clients = 128
	cost := map[int]time.Duration{}
	moves := map[int]float64{}
	for b.Loop() {
		for _, shards := range []int{1, 4} {
			c := spawn(b, b.TempDir(),
				staying(b, conf(fmt.Sprintf("(def shards %d) (def min-boards %d)\n", shards, 2*clients))))
			before := cpuOf(c.cmd.Process.Pid)
			moves[shards] += loadAll(b, []*child{c}, clients, 10*time.Second)
			cost[shards] += cpuOf(c.cmd.Process.Pid) - before
			c.end()
		}
	}
	for _, shards := range []int{1, 4} {
		b.ReportMetric(float64(cost[shards].Microseconds())/moves[shards], fmt.Sprint(shards, "-µs/move"))
		b.ReportMetric(moves[shards]/10/float64(b.N), fmt.Sprint(shards, "-moves/s"))
	}
	b.ReportMetric(cost[4].Seconds()/moves[4]/(cost[1].Seconds()/moves[1]), "ratio")
	b.ReportMetric(0, "ns/op")
}

// loadAll plays on all servers at once, and returns how many moves were accepted.
func loadAll(b *testing.B, servers []*child, clients int, d time.Duration) (moves float64) {
	var all sync.WaitGroup
	answered, errs := make([]uint64, len(servers)), make([]error, len(servers))
	for i, c := range servers {
		all.Go(func() {
			r, err := loader.Run(b.Context(), loader.Options{
				Server: netip.MustParseAddrPort("127.0.0.1:" + c.port), Clients: clients, Duration: d, Greet: patience,
				Drain: patience,
			})
			if errs[i] = err; err == nil {
				answered[i] = r.Answered
			}
		})
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			b.Fatal(err)
		}
		moves += float64(answered[i])
	}
	return moves
}

// limit gives a process a share of one core, by a control group of its own.
func limit(b testing.TB, pid int, cores float64) {
	b.Helper()
	const period = 100_000 // µs
	quota := strconv.Itoa(int(cores * period))
	dir, files := filepath.Join("/sys/fs/cgroup", fmt.Sprint("wamble-", pid)),
		map[string]string{"cpu.max": fmt.Sprint(quota, " ", period)}
	if _, err := os.Stat("/sys/fs/cgroup/cpu"); err == nil { // version 1
		dir, files = filepath.Join("/sys/fs/cgroup/cpu", fmt.Sprint("wamble-", pid)),
			map[string]string{"cpu.cfs_period_us": strconv.Itoa(period), "cpu.cfs_quota_us": quota}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		b.Fatalf("%v: run it as root, with control groups", err)
	}
	b.Cleanup(func() { os.Remove(dir) }) // its process has ended
	files["cgroup.procs"] = strconv.Itoa(pid)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// cpuOf returns the processor time that a process has used.
func cpuOf(pid int) time.Duration { return cpuTime(func(p, _ int) bool { return p == pid }) }

// cpuTime returns the processor time of the processes for which meant is true.
func cpuTime(meant func(pid, parent int) bool) (used time.Duration) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range files {
		text, _ := os.ReadFile(name)
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest) // state, parent, …, 11: user time, 12: system time, in 1/100 s
		if len(fields) < 13 {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if parent, _ := strconv.Atoi(fields[1]); !meant(pid, parent) {
			continue
		}
		for _, ticks := range fields[11:13] {
			n, _ := strconv.Atoi(ticks)
			used += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return used
}
