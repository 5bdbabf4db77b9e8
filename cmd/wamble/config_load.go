package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"wamble/internal/config"
	"wamble/internal/lisp"
)

// defaultConfigFile is read when no file is named; it may be missing.
const defaultConfigFile = "wamble.conf"

// loadConfig reads the configuration file at path for a command. An empty path
// is wamble.conf in this directory, or the defaults if there is none; a named
// file must exist. Findings are printed on the command's error output, and
// errors end in exit code 1.
func loadConfig(cmd *cobra.Command, path, profile string) (*config.Config, error) {
	name, text, err := readConfig(path)
	if err != nil {
		return nil, err
	}
	c, err := config.Load(name, text, config.Params{Getenv: os.Getenv, Profile: profile})
	var faults *config.LoadError
	if errors.As(err, &faults) {
		printFindings(cmd.ErrOrStderr(), append(faults.Errors, faults.Warnings...))
		fmt.Fprintf(cmd.ErrOrStderr(), "%s, %s\n", plural(len(faults.Errors), "error"), plural(len(faults.Warnings), "warning"))
		return nil, exitError(1)
	}
	if err != nil {
		return nil, err
	}
	printFindings(cmd.ErrOrStderr(), c.Warnings)
	return c, nil
}

// readConfig returns the name and text of the file at path; both are empty if
// there is none and none was named.
func readConfig(path string) (name, text string, err error) {
	name = path
	if path == "" {
		name = defaultConfigFile
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && path == "" {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("read the configuration: %w", err)
	}
	defer f.Close()
	// One byte more than the language accepts is enough for its error.
	raw, err := io.ReadAll(io.LimitReader(f, lisp.MaxSource+1))
	if err != nil {
		return "", "", fmt.Errorf("read the configuration: %w", err)
	}
	return name, string(raw), nil
}

func printFindings(w io.Writer, list []*lisp.Error) {
	for _, e := range list {
		io.WriteString(w, e.Render())
	}
}
