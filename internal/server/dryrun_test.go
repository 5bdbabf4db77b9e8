package server

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"wamble/internal/admin"
	"wamble/internal/observe"
)

// TestDryRunReload: a dry run reports what a reload would change, begin, end and refuse,
// without doing it: nothing listens, nothing is stored, nothing is logged as a reload.
func TestDryRunReload(t *testing.T) {
	t.Parallel()
	ports := freePorts(t, 4)
	taken := serve(t, Options{}, conf("")).ready()
	f := &file{profilesOn("red", ports[0], "blue", ports[1])}
	s := serve(t, Options{Load: f.load}, f.text).ready()
	until(t, "what the database has is kept for a while",
		func() bool { return slices.Contains(listing(t, s.dir), "kept") })
	before, files := fmt.Sprint(s.Profiles(), s.Status(t.Context()).Reload), listing(t, s.dir)
	for _, tc := range []struct {
		name, text                  string
		changes, profiles, refusals []string // a part of each line
	}{
		{"nothing", f.text, nil, nil, nil},
		{"an option", "(def max-boards 99)" + f.text, []string{"blue: max-boards 1024 boards → 99 boards (live)", "red: max-boards 1024"}, nil, nil},
		{
			"profiles", profilesOn("red", ports[2], "green", ports[3]),
			[]string{"blue: profile running → absent", "green: profile absent → running",
				fmt.Sprintf("red: port %d → %d (listener)", ports[0], ports[2])},
			[]string{"profile red gets its listener anew", "profile green begins", "profile blue ends"}, nil,
		},
		{
			"another database", strings.Replace(f.text, "(defprofile blue (",
				`(defprofile blue ((def db-host "127.0.0.1")(def db-port 1)(def db-pass "swordfish")`, 1),
			[]string{"blue: db-host", "blue: db-port", "blue: db-pass (hidden) → (hidden)", "blue: store"},
			[]string{"profile blue begins anew with another database"},
			[]string{"profile blue: the database that it is to use"},
		},
		{"what needs a restart", `(def data-dir "/nowhere")` + f.text, []string{"server: data-dir"}, nil, []string{"it needs a restart"}},
		{"what needs a handoff", `(def durability "write")` + f.text, []string{"server: durability"}, nil, []string{"'wamble handoff' applies it"}},
		{"a port that is taken", profilesOn("red", ports[0], "blue", ports[1], "new", taken.Addresses().UDP.Port()), []string{"new: profile"}, []string{"profile new begins"}, []string{"profile new: cannot bind"}},
	} {
		f.text = tc.text
		got, err := s.dryRunReload(t.Context(), true)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		var changes []string
		for _, c := range got.Changes {
			changes = append(changes, c.String())
		}
		if !parts(changes, tc.changes) || !parts(got.Profiles, tc.profiles) || !parts(got.Refused, tc.refusals) {
			t.Errorf("%s: got %q, %q, %q", tc.name, changes, got.Profiles, got.Refused)
		}
	}
	f.text = "(def port"
	if _, err := s.dryRunReload(t.Context(), true); err == nil || !strings.Contains(err.Error(), "test.conf:1") {
		t.Errorf("a configuration with a mistake: %v", err)
	}
	if after := fmt.Sprint(s.Profiles(), s.Status(t.Context()).Reload); after != before {
		t.Errorf("before %s, after %s", before, after)
	}
	if after := listing(t, s.dir); !slices.Equal(after, files) {
		t.Errorf("before there were %v, after %v", files, after)
	}
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", ports[3]))
	if err != nil {
		t.Fatalf("the port of a profile that did not begin: %v", err)
	}
	l.Close()
}

// TestEffective: the console shows every option with its source, and no secret.
func TestEffective(t *testing.T) {
	t.Parallel()
	f := &file{conf("(def max-boards 77)\n")}
	s := serve(t, Options{Load: f.load}, f.text).ready()
	token, err := observe.Token(s.tokenFile(s.o.Config))
	if err != nil {
		t.Fatal(err)
	}
	f.text = conf("(def max-boards 78)\n(def db-pass \"swordfish\")\n")
	code, text := s.ask("GET", "/console/api/config", "", "Authorization", "Bearer "+token)
	if code != 200 || strings.Contains(text, "swordfish") {
		t.Fatalf("got %d: %s", code, text)
	}
	var got struct {
		File     string
		Server   []map[string]any
		Profiles []struct {
			Name    string
			Options []map[string]any
		}
		Reload admin.DryRun
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	find := func(list []map[string]any, name string) map[string]any {
		i := slices.IndexFunc(list, func(o map[string]any) bool { return o["option"] == name })
		if i < 0 {
			t.Fatalf("there is no %s", name)
		}
		return list[i]
	}
	options := got.Profiles[0].Options
	if o := find(options, "max-boards"); o["value"] != 77.0 || o["file"] != "test.conf" || o["line"] == nil {
		t.Errorf("max-boards is %v", o)
	}
	if o := find(options, "db-pass"); o["hidden"] != true || o["value"] != nil {
		t.Errorf("db-pass is %v", o)
	}
	if o := find(got.Server, "admin-pprof"); o["from"] != "default" || o["value"] != false {
		t.Errorf("admin-pprof is %v", o)
	}
	if c := got.Reload.Changes; len(c) != 3 || c[0].New != "78 boards" || c[1].What != "db-pass" {
		t.Errorf("a reload would change %v", got.Reload.Changes)
	}
}

// parts reports whether each line has its part.
func parts(lines, want []string) bool {
	return slices.EqualFunc(lines, want, strings.Contains)
}

// listing returns the names in a directory.
func listing(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
