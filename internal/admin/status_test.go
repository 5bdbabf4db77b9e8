package admin

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStatusOfStopped: the status of a process that does not run, as after SIGSTOP, is an
// error that says so, without a wait.
func TestStatusOfStopped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := ControlPath(dir)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path) // the kernel takes connections
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = awaitStatus(t.Context(), dir, &Arguments{}, 20*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "is there, but has not answered for") {
		t.Errorf("got %v, want that it does not answer", err)
	}
}

// TestStatusText: 'wamble status' names the configuration file, the data directory, the scheme
// of each address, and what was shed.
func TestStatusText(t *testing.T) {
	var out strings.Builder
	s := &Status{Config: "/etc/wamble/wamble.conf", Data: "/var/lib/wamble", Profiles: []ProfileStatus{
		{Name: "a", HTTP: "[::]:443", Secure: true, Shed: map[string]int{"rest": 7}}, {Name: "b", HTTP: "[::]:8888"},
	}}
	if err := printStatus(&out, s); err != nil {
		t.Fatal(err)
	}
	words := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"config /etc/wamble/wamble.conf data /var/lib/wamble", ", https [::]:443",
		", http [::]:8888", "shed rest 7 datagrams since the start"} {
		if !strings.Contains(words, want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
}
