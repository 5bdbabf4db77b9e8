package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"wamble/internal/admin"
	"wamble/internal/journal"
	"wamble/internal/observe"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
	"wamble/runner"
)

// TestTwoMachinesJournalAdmin: each machine lists the dead letters of its partitions, by the
// control socket and in the console, and names the machines with the others. So do its
// metrics, which count nothing twice.
func TestTwoMachinesJournalAdmin(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	a := serve(t, Options{}, clusterConf(db, "a")).ready()
	b := serve(t, Options{}, clusterConf(db, "b")).ready()
	untilOwned(t, 2, a.dir, b.dir)
	until(t, "both serve", func() bool { return a.Status(t.Context()).Ready() && b.Status(t.Context()).Ready() })
	machines := map[string]*here{"a": a, "b": b}
	tokens, queues := map[string]string{}, map[int]uint32{}
	for name, h := range machines {
		token, err := observe.Token(h.tokenFile(h.o.Config))
		if err != nil {
			t.Fatal(err)
		}
		tokens[name] = token
		for _, part := range ownedPartitions(t, h.dir) { // for no profile: they end as dead letters
			r := h.partitionOf(part).runner
			until(t, "the shard has a queue",
				func() bool { _, ok := journal.NumberOf(r, store.ShardName("default", part)); return ok })
			number, _ := journal.NumberOf(r, store.ShardName("default", part))
			queues[part] = number
			for range part + 1 {
				if _, err := r.Post(t.Context(),
					&runner.Message{To: uint64(number), Payload: []byte("secret")}); err != nil {
					t.Fatal(err)
				}
			}
			until(t, "they are dead letters", func() bool {
				list, err := r.DeadLetters(runner.DeadFilter{}, runner.Row{}, 9)
				return err == nil && len(list) == part+1
			})
		}
	}
	metrics := map[string]int{} // by the beginning of the line
	for name, h := range machines {
		other, mine := machines[map[string]string{"a": "b", "b": "a"}[name]], ownedPartitions(t, h.dir)
		far := ownedPartitions(t, other.dir)[0]
		var list []admin.DeadLetter
		if err := admin.Ask(t.Context(), h.dir, "dead-letters", nil, &list); err != nil {
			t.Fatal(err)
		}
		count := map[int]int{}
		for _, d := range list {
			if d.Part == nil {
				t.Fatalf("a dead letter of no part: %+v", d)
			}
			count[*d.Part]++
		}
		if want := map[int]int{mine[0]: mine[0] + 1, mine[1]: mine[1] + 1}; fmt.Sprint(count) != fmt.Sprint(want) {
			t.Errorf("%s has dead letters %v by part, want %v", name, count, want)
		}

		for _, c := range []struct {
			verb, args, want string // want: of the error
		}{
			{"runner-stats", `{}`, fmt.Sprintf("this machine has the parts %d, %d of the journal: name one, as in --part %d", mine[0], mine[1], mine[0])},
			{"runner-stats", fmt.Sprintf(`{"part":%d}`, mine[1]), ""},
			{"runner-stats", `{"part":4}`, "there is no part 4"},
			{"runner-inbox", fmt.Sprintf(`{"part":%d,"worker":%d}`, mine[0], queues[mine[0]]), ""},
			{"runner-list", fmt.Sprintf(`{"part":%d,"queue":"%d","state":"dead"}`, mine[0], queues[mine[0]]), ""},
			{"dead-letter-page", fmt.Sprintf(`{"part":%d}`, far), fmt.Sprintf("part %d of the journal is on machine %s: ask there", far, nodeName(other.o.Config))},
			{"dead-letter-drop", fmt.Sprintf(`{"part":%d,"worker":1,"number":1}`, far), "ask there"},
			{"dead-letter-drop", fmt.Sprintf(`{"part":%d,"worker":%d,"number":1}`, mine[1], queues[mine[1]]), ""},
		} {
			var answer json.RawMessage
			err := admin.Ask(t.Context(), h.dir, c.verb, json.RawMessage(c.args), &answer)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s %s: got %v, want %q", name, c.verb, c.args, err, c.want)
			}
		}
		if got := h.partitionOf(mine[1]).runner.Stats().DeadLetters; got != uint64(mine[1]) {
			t.Errorf("%s: after a drop there are %d dead letters in part %d, want %d", name, got, mine[1], mine[1])
		}

		auth := []string{"Authorization", "Bearer " + tokens[name], "Content-Type", "application/json"}
		desk := fmt.Sprintf("/console/runner/%d/", mine[0])
		for _, c := range []struct {
			method, path, body string
			code               int
			want               string
		}{
			{"GET", "/console/runner/", "", 200, fmt.Sprintf("Part %d</a>: %d dead letters", mine[0], mine[0]+1)},
			{"GET", "/console/runner/", "", 200, fmt.Sprintf("Part %d is on machine", far)},
			{"GET", desk, "", 200, "profile default"},
			{"GET", desk + "style.css", "", 200, ""},
			{"GET", desk + "api/stats", "", 200, fmt.Sprintf(`"dead_letters":%d`, mine[0]+1)},
			{"POST", desk + "api/delete", fmt.Sprintf(`{"queue":"%d","state":"dead","number":1}`, queues[mine[0]]), 200, ""},
			{"GET", desk + "api/stats", "", 200, fmt.Sprintf(`"dead_letters":%d`, mine[0])},
			{"GET", fmt.Sprintf("/console/runner/%d/", far), "", 404, "ask there"},
		} {
			code, answer := h.ask(c.method, c.path, c.body, auth...)
			if code != c.code || !strings.Contains(answer, c.want) || strings.Contains(answer, "secret") {
				t.Errorf("%s: %s %s: got %d %s, want %d with %q", name, c.method, c.path, code, answer, c.code, c.want)
			}
		}
		code, text := h.ask("GET", "/metrics", "", auth...)
		if code != 200 {
			t.Fatalf("metrics: %d", code)
		}
		for line := range strings.Lines(text) {
			series, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
			if strings.HasPrefix(series, "wamble_journal_dead_letters{") || strings.HasPrefix(series, "wamble_up{") ||
				strings.HasPrefix(series, "wamble_feed_games{") {
				metrics[series+"} "+value]++
			}
		}
		for _, part := range mine {
			want := fmt.Sprintf(`wamble_journal_dead_letters{node=%q,part="%d"} %d`, name, part, part)
			if metrics[want] != 1 {
				t.Errorf("the metrics lack %s: %v", want, metrics)
			}
			want = fmt.Sprintf(`wamble_up{node=%q,profile="default",shard="%d"} 1`, name, part)
			if metrics[want] != 1 {
				t.Errorf("the metrics lack %s: %v", want, metrics)
			}
		}
	}
	var letters, shards, feeds int
	for line := range metrics {
		switch {
		case strings.HasPrefix(line, "wamble_journal_dead_letters"):
			letters++
		case strings.HasPrefix(line, "wamble_up"):
			shards++
		case strings.HasPrefix(line, "wamble_feed_games"):
			feeds++
		}
	}
	if letters != 4 || shards != 4 || feeds != 2 {
		t.Errorf("want each part and each shard once, by who has it, and the feed of each machine: %v", metrics)
	}
}

// TestTwoMachinesStatus: each machine reports on all, over the control socket and to the console;
// on one that does not answer it reports what the others have last received.
func TestTwoMachinesStatus(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	options := Options{Handoff: HandoffOptions{Version: "9.8"}}
	a := serve(t, options, clusterConf(db, "a")).ready()
	b := serve(t, options, clusterConf(db, "b")).ready()
	untilOwned(t, 2, a.dir, b.dir)
	until(t, "both are connected", func() bool { m := a.router.Mesh(); return m != nil && m.Stats().Open == 1 })
	players := append(gather(t, a.address(), 2).players, gather(t, b.address(), 3).players...)
	for _, p := range players {
		if !p.move(t.Context()) {
			t.Fatal("a move failed")
		}
	}
	ask := func(h *here) (c admin.Cluster) {
		if err := admin.Ask(t.Context(), h.dir, "cluster", nil, &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, h := range []*here{a, b} {
		var c admin.Cluster
		until(t, "both serve", func() bool {
			c = ask(h)
			return len(c.Nodes) == 2 && c.Nodes[0].Ready && c.Nodes[1].Ready
		})
		if len(c.Nodes) != 2 || len(c.Free) > 0 {
			t.Fatalf("got %+v", c)
		}
		for i, of := range []*here{a, b} {
			n := c.Nodes[i]
			if n.Error != "" || !n.Ready || n.Self != (of == h) || n.Version != "9.8" ||
				n.Address != *of.meshAddress.Load() || fmt.Sprint(n.Parts) != fmt.Sprint(ownedPartitions(t, of.dir)) {
				t.Errorf("of machine %s: %+v", nodeName(of.o.Config), n)
			}
			if want := []int{2, 3}[i]; n.Players < want || n.Moves != uint64(want) { // more if a hello was said twice
				t.Errorf("machine %s has %d players and %d moves, want %d", n.Name, n.Players, n.Moves, want)
			}
		}
	}
	until(t, "a knows the players of b", func() bool { return a.rebalancer.peers.Counts("default").Sum().Players >= 3 })
	b.router.Mesh().Close()
	until(t, "b does not answer", func() bool {
		c := ask(a)
		n := c.Nodes[len(c.Nodes)-1]
		return n.Name == "b" && n.Error != "" && n.Players >= 3 && len(n.Parts) == 2
	})
}
