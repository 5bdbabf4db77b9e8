package main

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"wamble/internal/config"
)

// unit reads a unit file: every setting with its values.
func unit(t *testing.T, name string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../packaging/systemd/" + name)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '[' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Errorf("%s: %q is no setting", name, line)
		}
		all[key] = append(all[key], value)
	}
	return all
}

// TestUnits: the unit files fit this binary. It notifies systemd when it is ready and that it
// runs, the commands in them exist, a reload is a handoff, and a stop has the time that the
// server takes.
func TestUnits(t *testing.T) {
	service := unit(t, "wamble.service")
	for _, setting := range []struct{ key, want string }{
		{"Type", "notify"}, {"NotifyAccess", "main"}, {"Restart", "on-failure"}, {"TimeoutStartSec", "infinity"},
		{"User", "wamble"}, {"StateDirectory", "wamble"}, {"StateDirectoryMode", "0700"}, {"UMask", "0077"},
	} {
		if got := strings.Join(service[setting.key], ","); got != setting.want {
			t.Errorf("%s: got %q, want %q", setting.key, got, setting.want)
		}
	}
	for key, want := range map[string]string{"ExecStart": "serve", "ExecReload": "handoff"} {
		words := strings.Fields(strings.Join(service[key], " "))
		if len(words) < 2 || words[0] != "/usr/local/bin/wamble" {
			t.Errorf("%s: got %q", key, words)
			continue
		}
		command, rest, err := rootCommand().Find(words[1:])
		if err != nil || command.Name() != want {
			t.Errorf("%s: got %v, %v, want %s", key, command.Name(), err, want)
			continue
		}
		if err := command.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", key, err)
		} else if data := command.Flag("data").Value.String(); data != "/var/lib/"+service["StateDirectory"][0] {
			t.Errorf("%s: the data directory is %q, not the one that systemd makes", key, data)
		}
	}
	seconds := func(key string) int {
		n, err := strconv.Atoi(strings.Join(service[key], ""))
		if err != nil {
			t.Errorf("%s: %v", key, err)
		}
		return n
	}
	c, err := config.Load("none", "", config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	if got, least := time.Duration(seconds("TimeoutStopSec"))*time.Second, c.Server.ShutdownTimeout; got <= least {
		t.Errorf("TimeoutStopSec is %v, a stop may take %v", got, least)
	}
	if seconds("WatchdogSec") == 0 {
		t.Error("there is no watchdog")
	}
	port := "[::]:" + strconv.Itoa(int(c.Default.Network.Port))
	socket := unit(t, "wamble.socket")
	for _, setting := range []struct{ key, want string }{
		{"FileDescriptorName", c.Default.Name}, {"ListenDatagram", port}, {"ListenStream", port}, {"BindIPv6Only", "both"},
	} {
		if got := strings.Join(socket[setting.key], ","); got != setting.want {
			t.Errorf("%s: got %q, want %q", setting.key, got, setting.want)
		}
	}
}
