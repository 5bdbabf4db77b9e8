package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"wamble/internal/config"
	"wamble/internal/loader"
	"wamble/internal/server"
)

// unlimited has options for a server that bench starts, which override those of the user: a
// free port, and no limits for players or addresses.
const unlimited = `
(def port 0)
(def admin-listen "")
(def rate-limit-requests-per-sec 0)
(def rate-limit-ip-requests-per-sec 0)
(def new-players-per-ip-per-min 0)
(def max-players 10000000)
(def max-client-sessions 1000000)
(def max-boards 10000000)
(def max-spectators -1)
(def http-max-connections 100000)
(def http-max-connections-per-ip 100000)
(def shutdown-timeout 3600)
`

// ownServer is a server that bench has started.
type ownServer struct {
	*child
	config string // file
	data   string // directory
	temp   string // directory to be removed at the end
}

// startServer writes a configuration and starts a server with it.
func (f *benchFlags) startServer(ctx context.Context) (*ownServer, error) {
	temp, err := os.MkdirTemp("", "wamble-bench-")
	if err != nil {
		return nil, err
	}
	s := &ownServer{config: filepath.Join(temp, "bench.conf"), data: f.store.data, temp: temp}
	if s.data == "" {
		s.data = filepath.Join(temp, "data")
	}
	text, err := f.configText()
	if err == nil {
		err = os.WriteFile(s.config, []byte(text), 0o600)
	}
	if err == nil {
		args := []string{"serve", "--config", s.config, "--data", s.data}
		if f.store.profile != "" {
			args = append(args, "--profile", f.store.profile)
		}
		s.child, err = startChild(ctx, args...)
	}
	if err != nil {
		os.RemoveAll(temp)
		return nil, err
	}
	return s, nil
}

// remove deletes the temporary files of the server.
func (s *ownServer) remove() { os.RemoveAll(s.temp) }

// configText returns the user's configuration, if one is given, followed by bench's options.
func (f *benchFlags) configText() (string, error) {
	var b strings.Builder
	if f.store.config != "" {
		_, text, err := readConfig(f.store.config)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	b.WriteString(unlimited)
	if f.mode == loader.Mixed.String() {
		b.WriteString("(def prediction-mode \"streak\")\n")
	}
	for _, def := range f.defs {
		fmt.Fprintf(&b, "(def %s)\n", def)
	}
	return b.String(), nil
}

// storeOf opens the store of the measured profile.
func storeOf(cmd *cobra.Command, flags *storeFlags) (*server.SharedStore, error) {
	if flags.profile == "" {
		c, _, err := flags.configured(cmd)
		if err != nil {
			return nil, err
		}
		flags.profile = firstProfile(c)
	}
	stores, err := flags.open(cmd, false)
	if err != nil {
		return nil, err
	}
	return stores[0], nil
}

// firstProfile returns the name of the first profile that runs.
func firstProfile(c *config.Config) string { return c.Running()[0].Name }

var _ loader.Games = (*server.SharedStore)(nil)
