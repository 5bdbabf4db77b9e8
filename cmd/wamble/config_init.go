package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"wamble/internal/config"
)

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
