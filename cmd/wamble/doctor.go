package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wamble/internal/admin"
	"wamble/internal/server"
)

func doctorCommand() *cobra.Command {
	var flags storeFlags
	var asJSON bool
	var as string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look whether a server could run well here",
		Long: `Doctor looks at what a server needs before it is started: the data directory,
room and speed of its disk, all ports, the receive buffer that the kernel grants,
the limit of open files, the clock, the databases, and what db-sslmode protects
from. It says what to do about
what it finds, and changes nothing. The exit code is 1 if something would keep the
server from serving.

Root may read, write and bind what the user of the server may not: --user looks as
that user, who may bind ports below 1024 if the unit of the server lets them. The
limit of open files is that of this shell; a unit has its own (LimitNOFILE=).`,
		Example: `  wamble doctor
  wamble doctor --user wamble --config /etc/wamble/wamble.conf --data /var/lib/wamble`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if as != "" {
				if err := flags.find(cmd.Context()); err != nil { // the other user may not be able to
					return err
				}
				return runAs(cmd, as, configVariable+"="+flags.config, dataVariable+"="+flags.data)
			}
			c, dir, err := flags.configured(cmd)
			if err != nil {
				return err
			}
			return printFound(cmd, server.Examine(cmd.Context(), c, dir), asJSON)
		},
	}
	flags.registerData(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, for tools")
	cmd.Flags().StringVar(&as, userFlag, "", "look as this `user`, whom the server runs as")
	return cmd
}

// printFound prints the findings. It returns an error if one of them is admin.SeverityError.
func printFound(cmd *cobra.Command, found []admin.Finding, asJSON bool) error {
	broken := 0
	var rows []string
	for _, f := range found {
		if f.Verdict == admin.SeverityError {
			broken++
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", f.Verdict, f.Subject, f.Text))
		if f.Advice != "" {
			rows = append(rows, "\t\t→ "+f.Advice)
		}
	}
	var err error
	if asJSON {
		err = printJSON(cmd.OutOrStdout(), found)
	} else {
		err = printTable(cmd.OutOrStdout(), rows)
	}
	if err == nil && broken > 0 {
		err = fmt.Errorf("%s to be mended before a server can run here", plural(broken, "thing"))
	}
	return err
}

const userFlag = "user"

// runAs runs the same command line without --user as another user, with all of the user's
// groups and with more environment variables.
func runAs(cmd *cobra.Command, name string, more ...string) error {
	// The identity of the user.
	u, err := user.Lookup(name)
	if err != nil {
		return fmt.Errorf("--user: there is no user %s on this machine", name)
	}
	var groups []uint32
	ids, _ := u.GroupIds() // after an error only the primary group is used
	for _, id := range ids {
		if n, err := strconv.ParseUint(id, 10, 32); err == nil {
			groups = append(groups, uint32(n))
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	// The same command line without --user.
	args := strings.Fields(cmd.CommandPath())[1:]
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != userFlag {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	c := exec.CommandContext(cmd.Context(), binary, args...)
	c.Stdout, c.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	c.Env = append(append(os.Environ(), "HOME="+u.HomeDir, "USER="+name), more...)
	if int(uid) != os.Geteuid() {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid),
			Groups: groups}}
		likeUnit(c.SysProcAttr)
	}
	var ended *exec.ExitError
	switch err := c.Run(); {
	case errors.As(err, &ended):
		return exitError(ended.ExitCode()) // the child has printed why
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("only root can look as %s", name)
	default:
		return err
	}
}
