package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"wamble/internal/config"
	"wamble/internal/lisp"
)

func configCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "config",
		Short: "Show, explain or begin a configuration",
		Example: `  wamble config init
  wamble config show --profile blitz
  wamble config options port`,
	}, configShowCommand(), configInitCommand(), configOptionsCommand())
}

func configShowCommand() *cobra.Command {
	var flags storeFlags
	var profile string
	var asJSON, changed bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the effective value of every option and where it came from",
		Long: `Show prints every option of the server and of every profile with its effective
value and where that came from: the place in the file that defines it, the base
profile or the top level it was taken over from, or the default. Passwords are
hidden.`,
		Example: `  wamble config show
  wamble config show --config /etc/wamble/wamble.conf --profile blitz --changed
  wamble config show --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := flags.load(cmd)
			if err != nil {
				return err
			}
			sections, err := chooseSections(c, profile)
			if err != nil {
				return err
			}
			if changed {
				for i := range sections {
					sections[i].Options = config.Changed(sections[i].Options)
				}
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), c.File, sections)
			}
			return writeSections(cmd.OutOrStdout(), sections)
		},
	}
	flags.registerData(cmd)
	cmd.Flags().StringVarP(&profile, "profile", "p", "", "show only this profile")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	cmd.Flags().BoolVar(&changed, "changed", false, "leave out what has its default")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("profile",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return completeProfiles(&flags), cobra.ShellCompDirectiveNoFileComp
		}))
	return cmd
}

// serverTitle is the title of the server's section.
const serverTitle = "server"

// section is a part of the output: the server, or one profile.
type section struct {
	Name     string           `json:"name"`
	Inherits string           `json:"inherits,omitempty"`
	Runs     bool             `json:"runs"`
	Store    string           `json:"store,omitempty"`
	Options  []config.Setting `json:"options"`
	title    string
}

// chooseSections returns the sections of the server and all profiles, or the one with a name.
func chooseSections(c *config.Config, profile string) ([]section, error) {
	running := map[*config.Profile]bool{}
	for _, p := range c.Running() {
		running[p] = true
	}
	describe := func(p *config.Profile) section {
		s := section{p.Name, p.Base, running[p], p.Storage(), p.Settings(), "profile " + p.Name}
		if p.Base != "" {
			s.title += ", inherits " + p.Base
		}
		if !s.Runs {
			s.title += ", does not run"
		}
		return s
	}
	if profile == config.DefaultName {
		return []section{describe(c.Default)}, nil
	}
	if profile != "" {
		p := c.Profile(profile)
		if p == nil {
			return nil, lisp.Pos{}.Errorf("there is no profile %q", profile).Suggest(profile, profileNames(c))
		}
		return []section{describe(p)}, nil
	}
	sections := []section{{Options: c.Settings(), title: serverTitle}}
	for _, p := range append([]*config.Profile{c.Default}, c.Profiles...) {
		sections = append(sections, describe(p))
	}
	return sections, nil
}

func profileNames(c *config.Config) []string {
	names := []string{config.DefaultName}
	for _, p := range c.Profiles {
		names = append(names, p.Name)
	}
	return names
}

func completeProfiles(flags *storeFlags) []string {
	if flags.find(context.Background()) != nil {
		return nil
	}
	name, text, err := readConfig(flags.config)
	if err != nil {
		return nil
	}
	c, err := config.Load(name, text, config.Params{Getenv: os.Getenv})
	if err != nil {
		return nil
	}
	return profileNames(c)
}

func writeSections(w io.Writer, sections []section) error {
	for i, s := range sections {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, s.title)
		columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, o := range s.Options {
			fmt.Fprintf(columns, "  %s\t%s\t%s\n", o.Option.Name, o.Text(), o.Origin)
		}
		if err := columns.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func writeJSON(w io.Writer, file string, sections []section) error {
	var doc struct {
		File     string           `json:"file"`
		Server   []config.Setting `json:"server,omitempty"`
		Profiles []section        `json:"profiles"`
	}
	doc.File, doc.Profiles = file, sections
	if sections[0].title == serverTitle {
		doc.Server, doc.Profiles = sections[0].Options, sections[1:]
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(doc)
}

func configInitCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a short configuration file to begin with",
		Long: `Init writes a configuration file with the first options that a host needs, commented
out. 'wamble config options' has all of them. It never overwrites a file.`,
		Example: `  wamble config init
  wamble config init --out /etc/wamble/wamble.conf
  wamble config init --out -`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "-" {
				_, err := io.WriteString(cmd.OutOrStdout(), config.Starter())
				return err
			}
			f, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s exists and is not overwritten; --out names another file", out)
			}
			if err != nil {
				return fmt.Errorf("write the configuration: %w", err)
			}
			_, err = f.WriteString(config.Starter())
			if err = errors.Join(err, f.Close()); err != nil {
				return fmt.Errorf("write the configuration: %w", err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s; `wamble check %[1]s` checks it\n", out)
			return err
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", defaultConfigFile, "file to write, - for standard output")
	return cmd
}
