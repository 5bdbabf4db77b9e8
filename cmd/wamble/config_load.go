package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"wamble/internal/config"
	"wamble/internal/lisp"
)

// defaultConfigFile is the name of the file that is looked for in the current directory.
const defaultConfigFile = "wamble.conf"

// printLoaded prints the findings of config.Load on the command's error output. Errors end in
// exit code 1.
func printLoaded(cmd *cobra.Command, c *config.Config, err error) error {
	var faults *config.LoadError
	switch {
	case errors.As(err, &faults):
		printFindings(cmd.ErrOrStderr(), append(faults.Errors, faults.Warnings...))
		fmt.Fprintf(cmd.ErrOrStderr(), "%s, %s\n", plural(len(faults.Errors), "error"),
			plural(len(faults.Warnings), "warning"))
		return exitError(1)
	case err == nil:
		printFindings(cmd.ErrOrStderr(), c.Warnings)
	}
	return err
}

// readConfig returns the name and text of the file at path, which must exist; both are empty
// if path is.
func readConfig(path string) (name, text string, err error) {
	if path == "" {
		return "", "", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", "", fmt.Errorf("read the configuration: %w", err)
	}
	defer f.Close()
	// One byte more than the language accepts is enough for its error.
	raw, err := io.ReadAll(io.LimitReader(f, lisp.MaxSource+1))
	if err != nil {
		return "", "", fmt.Errorf("read the configuration: %w", err)
	}
	return path, string(raw), nil
}

func printFindings(w io.Writer, list []*lisp.Error) {
	for _, e := range list {
		io.WriteString(w, e.Render())
	}
}
