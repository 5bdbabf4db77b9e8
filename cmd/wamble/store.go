package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"wamble/internal/config"
	"wamble/internal/server"
)

// storeFlags are the flags of every command that works on the stores of a
// configuration.
type storeFlags struct {
	config, profile, data string
}

func (f *storeFlags) register(cmd *cobra.Command) {
	f.registerData(cmd)
	cmd.Flags().StringVarP(&f.profile, "profile", "p", "", "only this `profile` (default all that run)")
}

// registerData registers the flags that find a data directory.
func (f *storeFlags) registerData(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.config, "config", "c", "", "configuration `file` (default wamble.conf here, if there is one)")
	cmd.Flags().StringVar(&f.data, "data", "", "data `directory` (default data-dir, else the user's state directory)")
	cmd.RegisterFlagCompletionFunc("config", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
}

// open loads the configuration and opens the stores it names. With create, what
// is missing of the data directory is made; without, it is an error.
func (f *storeFlags) open(cmd *cobra.Command, create bool) ([]*server.Shared, error) {
	c, err := loadConfig(cmd, f.config, "")
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
	dir, err := server.DataDir(f.data, c.Server.DataDir, os.Getenv)
	if err != nil {
		return nil, err
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
