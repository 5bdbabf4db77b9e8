package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// installServer makes commands find an installed server in an empty directory, whose files the
// test writes. Commands that look for others find none.
func installServer(t *testing.T) {
	before := installed
	t.Cleanup(func() { installed = before })
	installAt(t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFind: a command is about what its flags name, else about the installed server, else about
// the current directory; half of the installed server's name is the whole.
func TestFind(t *testing.T) {
	installServer(t)
	find := func(f storeFlags) [2]string {
		if err := f.find(t.Context()); err != nil {
			t.Error(err)
		}
		return [2]string{f.config, f.data}
	}
	if got := find(storeFlags{}); got != [2]string{} {
		t.Errorf("where there is nothing: %q", got)
	}
	writeFile(t, defaultConfigFile, "")
	if got := find(storeFlags{}); got != [2]string{defaultConfigFile} {
		t.Errorf("with a configuration here: %q", got)
	}
	writeFile(t, installed.config, "")
	whole := [2]string{installed.config, installed.data}
	for name, c := range map[string]struct {
		given storeFlags
		want  [2]string
	}{
		"nothing is named":            {storeFlags{profile: "p"}, whole},
		"nothing is named by a start": {storeFlags{starts: true}, whole},
		"its directory is named": {storeFlags{data: installed.data + "/"},
			[2]string{installed.config, installed.data + "/"}},
		"its file is named": {storeFlags{config: installed.config}, whole},
		"another directory is named": {storeFlags{data: "/elsewhere"},
			[2]string{defaultConfigFile, "/elsewhere"}},
		"another configuration is": {storeFlags{config: "other.conf"}, [2]string{"other.conf"}},
		"both are named":           {installed, whole},
		"both are named, one is another's": {storeFlags{config: "other.conf", data: installed.data},
			[2]string{"other.conf", installed.data}},
	} {
		if got := find(c.given); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	f := &runnerFlags{cmd: rootCommand()}
	f.cmd.SetContext(t.Context())
	f.cmd.SetErr(io.Discard)
	if got, err := f.path(); err != nil || got != filepath.Join(installed.data, "journal") {
		t.Errorf("its journal: %s, %v", got, err)
	}
}

// TestMayServe: root does not start a server on the directory of the installed one, which
// belongs to another user.
func TestMayServe(t *testing.T) {
	installServer(t)
	f := &storeFlags{data: installed.data}
	if err := f.mayServe(0); err != nil {
		t.Errorf("the directory is not there yet: %v", err)
	}
	if err := os.Mkdir(installed.data, 0o700); err != nil {
		t.Fatal(err)
	}
	owner := os.Geteuid()
	if owner == 0 {
		owner = 12345
		if err := os.Chown(installed.data, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.mayServe(0); err == nil || !strings.Contains(err.Error(), installed.data+" belongs to ") {
		t.Errorf("root: %v", err)
	}
	if err := f.mayServe(owner); err != nil {
		t.Errorf("its owner: %v", err)
	}
	if err := (&storeFlags{data: "/elsewhere"}).mayServe(0); err != nil {
		t.Errorf("root, elsewhere: %v", err)
	}
}

// TestNoServer: what starts a server that does not run is what starts the same one: the service
// manager if it has a unit, else the command line with the same flags.
func TestNoServer(t *testing.T) {
	installServer(t)
	before := units
	t.Cleanup(func() { units = before })
	if err := os.Mkdir(installed.data, 0o700); err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "wamble.service")
	writeFile(t, unit, "")
	for name, c := range map[string]struct {
		unit  string
		f     storeFlags
		dir   string
		start string
	}{
		"nothing is named": {unit, storeFlags{}, "/home/ann/data", "'wamble serve' starts one"},
		"a configuration is named": {unit, storeFlags{typedConfig: "a.conf"}, "/srv/data",
			"'wamble serve --config a.conf' starts one"},
		"a directory is named": {unit, storeFlags{typedData: "/srv/data"}, "/srv/data",
			"'wamble serve --data /srv/data' starts one"},
		"the installed one": {unit, storeFlags{typedData: installed.data}, installed.data,
			"'systemctl start wamble' starts it"},
		"it, without service manager": {unit + "s", storeFlags{}, installed.data,
			"wamble serve --config " + installed.config + " --data " + installed.data + "' starts one"},
	} {
		units = []string{c.unit}
		if got := c.f.noServer(c.dir).Error(); !strings.Contains(got, "no server runs on "+c.dir+"; ") ||
			!strings.Contains(got, c.start) {
			t.Errorf("%s: got %q, want %q", name, got, c.start)
		}
	}
}
