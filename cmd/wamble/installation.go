package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"wamble/internal/admin"
	"wamble/internal/config"
	"wamble/internal/server"
)

// installed has the paths of the server that the Debian package installs.
var installed = storeFlags{config: "/etc/wamble/wamble.conf", data: "/var/lib/wamble"}

// units has the possible paths of the installed server's unit; the first one is used.
var units = []string{"/etc/systemd/system/wamble.service", "/lib/systemd/system/wamble.service"}

// The environment variables that name what the command line does not.
const (
	configVariable = "WAMBLE_CONFIG"
	dataVariable   = "WAMBLE_DATA"
)

// whichServer is the part of a help text about find.
const whichServer = `Where the command line names neither, a command is about the configuration file
$WAMBLE_CONFIG and the data directory $WAMBLE_DATA; else about the installed server
(/etc/wamble/wamble.conf, /var/lib/wamble); else about the server that runs on the
user's state directory, with the file that it has read; else about wamble.conf in
the current directory, or the defaults. What is not named is said on standard error.`

// runningPatience bounds the question to a server that runs, which configuration it has.
const runningPatience = 2 * time.Second

// find sets the configuration file and the data directory that the command line does not name.
// It takes them from the environment, the installed server, the server that runs on the data
// directory, and the current directory, in this order. An empty file means the defaults, and
// an empty directory the one that the configuration names.
func (f *storeFlags) find(ctx context.Context) error {
	if f.found {
		return nil
	}
	f.found, f.typedConfig, f.typedData = true, f.config, f.data
	f.config, f.data = cmp.Or(f.config, os.Getenv(configVariable)), cmp.Or(f.data, os.Getenv(dataVariable))
	if f.config != "" && f.data != "" {
		return nil
	}
	denied := f.findInstalled()
	if f.config != "" || !f.starts && f.findRunning(ctx) {
		return nil
	}
	if denied != nil && !f.starts {
		return fmt.Errorf("read the configuration of the installed server: %w\n"+
			"Another one is named by --config or --data", denied)
	}
	f.config = configHere()
	return nil
}

// findInstalled sets both paths to those of the installed server if none or only one of them is
// known, and that is the installed server's. If none is known and this user may not read the
// file, it changes nothing and returns why.
func (f *storeFlags) findInstalled() (denied error) {
	unknown := f.config == "" && f.data == ""
	if !unknown && !samePath(f.config, installed.config) && !samePath(f.data, installed.data) {
		return nil
	}
	file, err := os.Open(installed.config)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil && unknown:
		return err
	case err == nil:
		file.Close()
	}
	f.config, f.data = cmp.Or(f.config, installed.config), cmp.Or(f.data, installed.data)
	return nil
}

// findRunning asks the server that runs on the data directory for its configuration file. It
// reports whether there is one.
func (f *storeFlags) findRunning(ctx context.Context) bool {
	dir, err := server.DataDir(f.data, "", os.Getenv)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, runningPatience)
	defer cancel()
	var status admin.Status
	if admin.Ask(ctx, dir, "status", nil, &status) != nil {
		return false
	}
	f.config, f.data = status.Config, dir
	return true
}

// configHere returns the name of the configuration file in the current directory; "" if there
// is none.
func configHere() string {
	if _, err := os.Lstat(defaultConfigFile); err != nil {
		return ""
	}
	return defaultConfigFile
}

// samePath reports whether a path that is not empty is another one.
func samePath(path, other string) bool {
	if path == "" {
		return false
	}
	a, err := filepath.Abs(path)
	b, err2 := filepath.Abs(other)
	return err == nil && err2 == nil && a == b
}

// load finds and loads the configuration of a command that needs no data directory. It says
// what the command is about unless the command line names the file.
func (f *storeFlags) load(cmd *cobra.Command) (*config.Config, error) {
	return f.loadAnd(cmd, func(dir string) {
		if f.typedConfig == "" {
			f.say(cmd, dir)
		}
	})
}

// configured finds and loads the configuration, and returns it with the data directory. It says
// what the command is about unless the command line names both.
func (f *storeFlags) configured(cmd *cobra.Command) (*config.Config, string, error) {
	c, err := f.loadAnd(cmd, func(dir string) {
		if f.typedConfig == "" || f.typedData == "" {
			f.say(cmd, dir)
		}
	})
	if err != nil {
		return nil, "", err
	}
	dir, err := server.DataDir(f.data, c.Server.DataDir, os.Getenv)
	return c, dir, err
}

// dataDir returns the data directory for a command that needs no configuration. It says what
// the command is about unless the command line names the directory.
func (f *storeFlags) dataDir(cmd *cobra.Command) (string, error) {
	if f.data != "" && !f.found {
		f.typedConfig, f.typedData = f.config, f.data
		return f.data, nil
	}
	if err := f.find(cmd.Context()); err != nil {
		return "", err
	}
	if f.data == "" {
		_, dir, err := f.configured(cmd)
		f.data = dir
		return dir, err
	}
	f.say(cmd, f.data)
	return f.data, nil
}

// loadAnd finds and loads the configuration. It calls say with the data directory, if that is
// known, before it prints findings.
func (f *storeFlags) loadAnd(cmd *cobra.Command, say func(dir string)) (*config.Config, error) {
	if err := f.find(cmd.Context()); err != nil {
		return nil, err
	}
	name, text, err := readConfig(f.config)
	if err != nil {
		return nil, err
	}
	c, err := config.Load(name, text, config.Params{Getenv: os.Getenv})
	dir := f.data
	if err == nil {
		dir, _ = server.DataDir(f.data, c.Server.DataDir, os.Getenv)
	}
	if !f.quiet && !f.starts {
		say(dir)
	}
	if f.quiet {
		return c, err
	}
	return c, printLoaded(cmd, c, err)
}

// say prints once on standard error which file and which directory the command is about.
func (f *storeFlags) say(cmd *cobra.Command, dir string) {
	if f.said || f.quiet {
		return
	}
	f.said = true
	text := f.config
	switch {
	case text == "":
		text = "the defaults without a configuration file"
	case text == defaultConfigFile && f.typedConfig == "":
		text += " in this directory"
	}
	if dir != "" {
		text += ", " + dir
	}
	if here := configHere(); here != "" && !samePath(f.config, here) {
		text += "; " + here + " in this directory is not read"
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "about "+text)
}

// noServer returns an error that no server runs on a data directory, and says how the same one
// is started.
func (f *storeFlags) noServer(dir string) error {
	start := "wamble serve"
	switch {
	case samePath(dir, installed.data) && hasUnit():
		return fmt.Errorf("no server runs on %s; 'systemctl start wamble' starts it, "+
			"and 'journalctl -u wamble' says why it ended", dir)
	case samePath(dir, installed.data):
		if name, owner := ownerOf(dir); owner != os.Geteuid() && name != "" {
			start = "sudo -u " + name + " " + start
		}
		start += " --config " + installed.config + " --data " + installed.data
	default:
		if f.typedConfig != "" {
			start += " --config " + f.typedConfig
		}
		if f.typedData != "" {
			start += " --data " + f.typedData
		}
	}
	return fmt.Errorf("no server runs on %s; '%s' starts one", dir, start)
}

// hasUnit reports whether a service manager has a unit for the installed server.
func hasUnit() bool {
	for _, name := range units {
		if _, err := os.Stat(name); err == nil {
			return true
		}
	}
	return false
}

// mayServe returns an error if a server of user me would leave files in the installed server's
// data directory that the owner of that could not read.
func (f *storeFlags) mayServe(me int) error {
	if !samePath(f.data, installed.data) {
		return nil
	}
	name, owner := ownerOf(installed.data)
	if name == "" || me != 0 || owner == me {
		return nil
	}
	start := "'sudo -u " + name + " wamble serve' starts it"
	if hasUnit() {
		start = "'systemctl start wamble' starts it"
	}
	return fmt.Errorf("%s belongs to %s, who could not read what a server of root leaves there: %s; "+
		"--data names another directory", installed.data, name, start)
}

// ownerOf returns the name and the number of the user to whom a file belongs; the name is "" if
// there is no such file.
func ownerOf(path string) (name string, uid int) {
	info, err := os.Stat(path)
	if err != nil {
		return "", 0
	}
	uid = int(info.Sys().(*syscall.Stat_t).Uid)
	return userName(uid), uid
}
