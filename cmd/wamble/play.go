package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"wamble"
	"wamble/client"
	"wamble/internal/play"
)

// playFlags has the flags of play.
type playFlags struct {
	plain, watch, ascii bool
	colors              string
	profile             string
	state               string
}

func playCommand() *cobra.Command {
	var f playFlags
	c := &cobra.Command{
		Use:   "play [ADDRESS]",
		Short: "Play at a server, in this terminal",
		Long: `Play takes a seat at a server: you make one move, and are switched to another board,
while somebody else answers yours. You need no account; 'identity new' makes an identity
that keeps your score, and whose twelve words are the same in a browser.

ADDRESS is wss://host/ws, ws://host:port/ws or udp://host:port; the address of the page
(https://host) and a bare host:port will do. Without it, the server of this machine is
found.

Moves are typed, as Nf3 or g1f3, with Tab to complete them, or chosen with arrow keys or
the mouse; 'help' lists what else can be typed. Colours fit a dark or a light terminal,
as it says itself; --colors decides otherwise, and NO_COLOR is respected.

--plain speaks in lines and moves no cursor: for screen readers, and for pipes, where it
is the default. It says every position in words, and ends with its input; with --watch
it goes on until it is interrupted.

What belongs to you (sessions, trails, the identity) is kept under $XDG_STATE_HOME/wamble-play,
or ~/.local/state/wamble-play. If the connection breaks, or you leave, while a move is
under way, it is sent as soon as the server is back, or you are.`,
		Example: `  wamble play
  wamble play wss://chess.example.org/ws
  wamble play --watch
  printf 'e4\ntrail\n' | wamble play --plain udp://localhost:8888`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return oneArg("the address of a server")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := c.Flags()
	flags.BoolVar(&f.plain, "plain", false, "speak in lines, for screen readers and pipes")
	flags.BoolVar(&f.watch, "watch", false, "take no board: watch the others")
	flags.BoolVar(&f.ascii, "ascii", false, "letters for pieces (default where the locale is not UTF-8)")
	flags.StringVar(&f.colors, "colors", "auto", "`colours`: auto, dark, light or none")
	flags.StringVarP(&f.profile, "profile", "p", "", "the `profile` of this machine's server (default its first one)")
	flags.StringVar(&f.state, "state", "",
		"`directory` of what belongs to you (default wamble-play in your state directory)")
	return c
}

// maxPause bounds the pauses between attempts to reconnect.
const maxPause = 5 * time.Second

// dialPatience bounds the time until the first greeting of a server.
const dialPatience = 10 * time.Second

func (f *playFlags) run(cmd *cobra.Command, args []string) error {
	if !slices.Contains([]string{"auto", "dark", "light", "none"}, f.colors) {
		return see(cmd, fmt.Errorf("--colors is auto, dark, light or none, not %q", f.colors))
	}
	var endpoints []endpoint
	if len(args) == 1 {
		address, err := serverAddress(args[0])
		if err != nil {
			return see(cmd, err)
		}
		endpoints = []endpoint{endpointAt(address)}
	} else {
		var err error
		if endpoints, err = findServer(cmd, f.profile); err != nil {
			return err
		}
	}
	dir, err := stateDir(f.state, os.Getenv)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	var failed error
	for _, d := range endpoints {
		s, err := connect(ctx, d, dir, f.watch)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		defer s.leave()
		return f.show(ctx, cmd, s)
	}
	return failed
}

// show shows the game until the player leaves.
func (f *playFlags) show(ctx context.Context, cmd *cobra.Command, s *connection) error {
	in, out := cmd.InOrStdin(), cmd.OutOrStdout()
	if f.plain || !canScreen(in, out) {
		return playPlain(ctx, s, in, out)
	}
	return playScreen(ctx, s, in, out, screenOptions{ascii: f.ascii || !utf8Locale(os.Getenv), colors: f.colors})
}

// connect connects to a server, with the stored session if there is one.
func connect(ctx context.Context, at endpoint, dir string, watch bool) (*connection, error) {
	address := at.address
	keeper, err := openKeeper(dir, address)
	if err != nil {
		return nil, err
	}
	dialer := client.Dialer{Token: keeper.file.token(), Wish: client.MayWait, MaxBackoff: maxPause, TLS: at.tls()}
	if watch {
		dialer.Wish = client.NoBoard
	}
	within, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	conn, err := dialer.Dial(within, address)
	if err != nil {
		keeper.close()
		return nil, notReached(address, err)
	}
	s := newConnection(ctx, conn, keeper, at)
	if keeper.identity != nil && !(keeper.file.LoggedIn && conn.Token() == keeper.file.token()) {
		if _, err := conn.Login(within, keeper.identity.Key()); err != nil {
			s.leave()
			return nil, fmt.Errorf("log in at %s: %w", address, err)
		}
		s.loggedIn = true
	}
	s.game = play.New(keeper.file.Saved, keeper.identity, watch)
	return s, nil
}

// notReached returns an error that explains why there is no session.
func notReached(address string, err error) error {
	if d, ok := errors.AsType[*wamble.Denied](err); ok {
		return fmt.Errorf("the server at %s does not let you in: %w", address, d)
	}
	if errors.Is(err, client.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("nobody answers at %s: no server runs there, or it cannot serve anybody yet; its 'wamble status' says why", address)
	}
	return fmt.Errorf("%s cannot be reached: %w", address, err)
}

// greeting prints the first lines for a player.
func greeting(w io.Writer, s *connection) {
	who := "as a guest"
	switch {
	case s.game.Only:
		who = "to watch"
	case s.game.Own != nil:
		who = "with your identity"
	}
	fmt.Fprintf(w, "Wamble at %s, %s. 'help' lists what you can type.\n", s.address, who)
	if s.keeper.shared {
		fmt.Fprintln(w, sharedText)
	}
}

// sharedText is shown if another process plays with the same files.
const sharedText = "You play here in another terminal already: this one has a session of its own, and keeps nothing."
