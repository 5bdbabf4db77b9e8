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

// storeFlags has the flags of commands that work on the stores of a configuration.
type storeFlags struct {
	config, profile, data string
	starts                bool // the command starts a server, so that none is looked for
	quiet                 bool // nothing is said

	found                  bool // find has set config and data
	said                   bool
	typedConfig, typedData string // what the command line says
}

func (f *storeFlags) register(cmd *cobra.Command) {
	f.registerData(cmd)
	cmd.Flags().StringVarP(&f.profile, "profile", "p", "", "only this `profile` (default all that run)")
}

// registerData registers the flags that find a data directory.
func (f *storeFlags) registerData(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.config, "config", "c", "",
		"configuration `file` (default that of the server which 'wamble help' tells)")
	cmd.Flags().StringVar(&f.data, "data", "", "data `directory` (default that of the same server)")
	cmd.RegisterFlagCompletionFunc("config", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
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
	if err := workAsOwner(dir); err != nil {
		return nil, err
	}
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

// oneProfile returns the profile that --profile names, or the only one that runs.
func (f *storeFlags) oneProfile(c *config.Config) (*config.Profile, error) {
	profiles := c.Running()
	if f.profile != "" {
		profiles = []*config.Profile{c.Profile(f.profile)}
	}
	switch {
	case len(profiles) == 1 && profiles[0] == nil:
		return nil, fmt.Errorf("there is no profile %q; 'wamble config show' lists them", f.profile)
	case len(profiles) != 1:
		return nil, fmt.Errorf("%d profiles run: name one with --profile", len(profiles))
	}
	return profiles[0], nil
}
