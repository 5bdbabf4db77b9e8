package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"wamble/internal/config"
	"wamble/internal/server"
)

// storeFlags has the flags of commands that work on the stores of a configuration.
type storeFlags struct {
	config, profile, data string
}

func (f *storeFlags) register(cmd *cobra.Command) {
	f.registerData(cmd)
	cmd.Flags().StringVarP(&f.profile, "profile", "p", "", "only this `profile` (default all that run)")
}

// registerData registers the flags that find a data directory.
func (f *storeFlags) registerData(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.config, "config", "c", "", "configuration `file` (default wamble.conf here, else that of the installed server)")
	cmd.Flags().StringVar(&f.data, "data", "", "data `directory` (default data-dir, else that of the installed server, else the user's state directory)")
	cmd.RegisterFlagCompletionFunc("config", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
}

// installed has the paths of the server that the Debian package installs.
var installed = storeFlags{config: "/etc/wamble/wamble.conf", data: "/var/lib/wamble"}

// findInstalled sets the flags to the installed server, and reports whether it did. It does
// if the command line names no other server, there is no configuration in the current
// directory, and this user may read the installed configuration, as root and the server's own
// user may.
func (f *storeFlags) findInstalled() bool {
	if f.config != "" || f.data != "" && filepath.Clean(f.data) != installed.data {
		return false
	}
	if _, err := os.Lstat(defaultConfigFile); err == nil && f.data == "" {
		return false
	}
	file, err := os.Open(installed.config)
	if err != nil {
		return false
	}
	file.Close()
	f.config, f.data = installed.config, installed.data
	return true
}

// noServer returns an error that no server runs on a data directory, with a hint at the
// installed server.
func noServer(dir string) error {
	if _, err := os.Stat(installed.data); err == nil && dir != installed.data {
		return fmt.Errorf("no server runs on %s; 'wamble serve --data %[1]s' starts one, and the one on %s answers with --data %[2]s to root and its own user", dir, installed.data)
	}
	return fmt.Errorf("no server runs on %s; 'wamble serve --data %[1]s' starts one", dir)
}

// open loads the configuration and opens its stores. With create it creates the data
// directory; otherwise a missing database file is an error.
func (f *storeFlags) open(cmd *cobra.Command, create bool) ([]*server.SharedStore, error) {
	c, dir, err := f.configured(cmd)
	if err != nil {
		return nil, err
	}
	profiles := c.Running()
	if f.profile != "" {
		p := c.Profile(f.profile)
		if f.profile == config.DefaultName {
			p = c.Default
		}
		if p == nil {
			return nil, fmt.Errorf("there is no profile %q; 'wamble config show' lists them", f.profile)
		}
		profiles = []*config.Profile{p}
	}
	keepOwner(dir)
	if create {
		if err := server.MakeDataDir(dir); err != nil {
			return nil, err
		}
	}
	stores, err := server.OpenStores(profiles, dir)
	if err != nil {
		return nil, err
	}
	for _, s := range stores {
		if _, err := os.Stat(s.File); s.File != "" && !create && errors.Is(err, fs.ErrNotExist) {
			server.CloseStores(stores)
			return nil, fmt.Errorf("there is no database %s yet; the server or 'wamble migrate' makes it", s.File)
		}
	}
	return stores, nil
}
