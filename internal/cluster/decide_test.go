package cluster

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestDecide walks the cases of testdata/decide.txt: what a node knows, and below ---- what it does.
// With WAMBLE_UPDATE=1 it writes what the node does.
func TestDecide(t *testing.T) {
	t.Parallel()
	const file = "testdata/decide.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		title, rest, titled := strings.Cut(c, "\n")
		situation, want, divided := strings.Cut(rest, "----\n")
		if !titled || !divided || !strings.HasPrefix(title, "# ") {
			if strings.HasPrefix(title, "## ") { // a heading, or an explanation
				all = append(all, c)
				continue
			}
			t.Fatalf("not a case:\n%s", c)
		}
		v, now, err := parse(situation)
		if err != nil {
			t.Fatalf("%s: %v", title, err)
		}
		if again := describe(v, now); again != situation {
			t.Errorf("%s: the situation\n%sis read as\n%s", title, situation, again)
		}
		got := decided(v, now)
		if all = append(all, title+"\n"+situation+"----\n"+got); got != want {
			t.Errorf("%s\n%sgot\n%s\nwant\n%s", title, situation, got, want)
		}
	}
	if os.Getenv("WAMBLE_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(strings.Join(all, "\n\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// decided returns what a node does, one action per line.
func decided(v View, now time.Duration) string {
	var lines []string
	for _, a := range Decide(v, now) {
		lines = append(lines, a.String())
	}
	if len(lines) == 0 {
		return "nothing"
	}
	return strings.Join(lines, "\n")
}

var places = []string{NotHeld: "", Held: ", here", Moving: ", moving here", Lost: ", lost here"}

// describe writes a situation as text.
func describe(v View, now time.Duration) string {
	var b strings.Builder
	if v.Away != nil {
		fmt.Fprintf(&b, "no database: %v\n", v.Away)
	}
	for _, n := range v.Nodes {
		fmt.Fprint(&b, "machine ", n.Name)
		for _, word := range []struct {
			on   bool
			text string
		}{
			{n.Name == v.Self, "this one"}, {!n.Reachable, "unreachable"}, {n.Draining, "stops"}, {n.Changing, "reloads"},
			{n.Name == v.Self && v.Changing, "reloads"}, {now < n.StableAt, fmt.Sprint("new for ", n.StableAt-now)},
		} {
			if word.on {
				fmt.Fprint(&b, ", ", word.text)
			}
		}
		fmt.Fprintln(&b)
	}
	if d := v.Drain; d != nil {
		fmt.Fprintf(&b, "it stops within %v", d.Deadline-now)
		if d.Done {
			fmt.Fprint(&b, ", drained")
		}
		fmt.Fprintln(&b)
	}
	if v.LastMove > 0 {
		fmt.Fprintf(&b, "it moved a partition %v ago\n", now-v.LastMove)
	}
	for k, p := range v.Parts {
		fmt.Fprintf(&b, "partition %d:", k)
		switch {
		case p.Free && p.Holder != "":
			fmt.Fprint(&b, " held by ", p.Holder, ", free")
		case p.Free:
			fmt.Fprint(&b, " free")
		case p.Successor == "" && p.Holder == "":
			fmt.Fprint(&b, " unknown")
		case p.Holder != "":
			fmt.Fprint(&b, " held by ", p.Holder)
		}
		if p.Free && p.Here == NotHeld {
			fmt.Fprint(&b, " for ", now-p.FreeSince)
		}
		if p.Successor != "" {
			fmt.Fprint(&b, " reserved for ", p.Successor)
		}
		fmt.Fprintln(&b, places[p.Here])
	}
	return b.String()
}

// parse reads what describe has written. The present is an hour after the start, and this node is a
// unless another one says "this one".
func parse(text string) (v View, now time.Duration, err error) {
	now, v.Self = time.Hour, "a"
	duration := func(s string) time.Duration {
		d, e := time.ParseDuration(strings.Trim(s, ","))
		err = errors.Join(err, e)
		return d
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		first, rest, _ := strings.Cut(line, " ")
		switch first {
		case "no":
			v.Away = errors.New(strings.TrimPrefix(line, "no database: "))
		case "machine":
			words := strings.Split(rest, ", ")
			n := Node{Name: words[0], Reachable: true}
			for _, w := range words[1:] {
				switch {
				case w == "this one":
					v.Self = n.Name
				case w == "unreachable":
					n.Reachable = false
				case w == "stops":
					n.Draining = true
				case w == "reloads" && n.Name == v.Self:
					v.Changing = true
				case w == "reloads":
					n.Changing = true
				case strings.HasPrefix(w, "new for "):
					n.StableAt = now + duration(w[len("new for "):])
				default:
					err = fmt.Errorf("%s: %q", line, w)
				}
			}
			v.Nodes = append(v.Nodes, n)
		case "it":
			if after, ok := strings.CutPrefix(line, "it moved a partition "); ok {
				v.LastMove = now - duration(strings.Fields(after)[0])
			} else if after, ok = strings.CutPrefix(line, "it stops within "); ok {
				v.Drain = &Drain{Deadline: now + duration(strings.Fields(after)[0]), Done: strings.HasSuffix(line, "drained")}
			}
		case "partition":
			p := Partition{}
			for i, place := range places {
				if place != "" && strings.HasSuffix(line, place) {
					p.Here, line = Place(i), strings.TrimSuffix(line, place)
				}
			}
			words := strings.Fields(line)[2:]
			for i, w := range words {
				switch w {
				case "by":
					p.Holder = strings.Trim(words[i+1], ",")
				case "free":
					p.Free = true
				case "for":
					if words[i-1] == "reserved" {
						p.Successor = words[i+1]
					} else {
						p.FreeSince = now - duration(words[i+1])
					}
				}
			}
			v.Parts = append(v.Parts, p)
		}
	}
	return v, now, err
}
