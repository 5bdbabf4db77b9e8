package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wamble/chess/novice"
	"wamble/chess/uci"
	"wamble/client"
	"wamble/internal/bot"
)

// botFlags has the flags of bot.
type botFlags struct {
	engine  string
	engines int
	players int
	pace    time.Duration
	limit   uci.Limit
	elo     int
	skill   int
	threads int
	hash    int
	options []string
	variety int
	seed    uint64
	depth   int
}

func botCommand() *cobra.Command {
	var f botFlags
	c := &cobra.Command{
		Use:   "bot [ADDRESS]",
		Short: "Play at a server with a chess engine, or with the built-in beginner",
		Long: `Bot takes one seat or several at a server and plays there until it is stopped: by
Ctrl-C it says goodbye. ADDRESS is as for 'wamble play'; without it, it plays at
the server of this machine.

--engine names a program that speaks UCI, such as Stockfish, with its arguments. A few
processes serve all seats. What limits its strength is an option of the engine: --elo
sets UCI_LimitStrength and UCI_Elo, --skill sets Skill Level, --option anything else;
an option that the engine does not have, or a value that it does not take, is an error.
How long it thinks about a move is --movetime, --nodes or --depth, whichever is reached
first. An engine that crashes, hangs or plays an illegal move is started again.

Without --engine the built-in player moves, which is as strong as a beginner in a club.

The server is told that these are bots: it may refuse them, or some of them.`,
		Example: `  wamble bot
  wamble bot --engine stockfish --elo 1500 --seats 4
  wamble bot --engine 'lc0 --backend=eigen' --nodes 1 --pace 3s wss://chess.example.org/ws
  wamble bot --engine stockfish --skill 3 --option 'Move Overhead=50' udp://localhost:8888`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return oneArg("the address of a server")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, strings.Join(args, ""))
		},
	}
	f.register(c)
	return c
}

func (f *botFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.engine, "engine", "",
		"`command` of a UCI engine, with its arguments (default the built-in player)")
	flags.IntVar(&f.engines, "engines", 0,
		"processes of the engine (default one for each seat, at most one for each processor)")
	flags.IntVar(&f.players, "seats", 1, "players at the same time")
	flags.DurationVar(&f.pace, "pace", 2*time.Second,
		"time that a seat takes for a move at least, give or take half of it")
	flags.DurationVar(&f.limit.Time, "movetime", 0,
		"how long the engine thinks about a move (default 100ms, unless --nodes or --depth is given)")
	flags.IntVar(&f.limit.Nodes, "nodes", 0, "how many positions the engine looks at for a move")
	flags.IntVar(&f.depth, "depth", 0, "how many plies the engine, or the built-in player, looks ahead")
	flags.IntVar(&f.elo, "elo", 0, "limit the engine's strength to this rating")
	flags.IntVar(&f.skill, "skill", -1, "limit the engine's strength to this skill level")
	flags.IntVar(&f.threads, "threads", 1, "threads of each process, if the engine can be told")
	flags.IntVar(&f.hash, "hash", 16, "memory of each process in MiB, if the engine can be told")
	flags.StringArrayVar(&f.options, "option", nil, "an option of the engine, as `NAME=VALUE`")
	flags.IntVar(&f.variety, "variety", 12,
		"plies at the start of a game in which the engine plays one of several good moves")
	flags.Uint64Var(&f.seed, "seed", 0, "begin the random choices with this number (default another one each time)")
}

// check returns an error if the flags contradict each other or are out of bounds.
func (f *botFlags) check() error {
	switch {
	case f.players < 1 || f.players > 1000:
		return fmt.Errorf("--seats is from 1 to 1000, not %d", f.players)
	case f.engines < 0 || f.engines > f.players:
		return fmt.Errorf("--engines is from 1 to the number of seats, not %d", f.engines)
	case f.pace < 0 || f.limit.Time < 0 || f.limit.Nodes < 0 || f.depth < 0:
		return errors.New("--pace, --movetime, --nodes and --depth are not negative")
	case f.engine == "" && f.depth > 4:
		return fmt.Errorf("the built-in player looks at most 4 plies ahead, not %d", f.depth)
	}
	return nil
}

// run plays until it is stopped, at the server of this machine if the address is "".
func (f *botFlags) run(cmd *cobra.Command, address string) error {
	if err := f.check(); err != nil {
		return see(cmd, err)
	}
	if f.engine != "" && !cmd.Flags().Changed("seed") {
		f.seed = rand.Uint64()
	}
	errOut := cmd.ErrOrStderr()
	ctx, stop := untilStopped(cmd.Context(), sayTo(errOut), "saying goodbye")
	defer stop()
	say := func(text string) { fmt.Fprintf(errOut, "wamble: %s\n", text) }
	player, name, err := f.player(ctx, say)
	if err != nil {
		return err
	}
	defer player.Close()
	at := endpoint{}
	if address == "" {
		endpoints, err := findServer(cmd, "")
		if err != nil {
			return err
		}
		at = endpoints[0]
	} else if at.address, err = serverAddress(address); err != nil {
		return err
	}
	say(fmt.Sprintf("%s plays at %s, seats %d", name, at.address, f.players))
	pool := &bot.Pool{Address: at.address, Dialer: client.Dialer{TLS: at.tls()}, Player: player, Pace: f.pace,
		Log: say}
	return f.play(ctx, pool, errOut)
}

// play runs the pool, and prints a line every ten seconds and at the end.
func (f *botFlags) play(ctx context.Context, pool *bot.Pool, errOut io.Writer) error {
	ended := make(chan error, 1)
	go func() { ended <- pool.Run(ctx, f.players) }()
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for start := time.Now(); ; {
		select {
		case <-tick.C:
			printFigures(errOut, pool.Figures(), time.Since(start))
		case err := <-ended:
			printFigures(errOut, pool.Figures(), time.Since(start))
			return err
		}
	}
}

func printFigures(w io.Writer, f bot.Figures, took time.Duration) {
	fmt.Fprintf(w, "wamble: %d seated, %d moves (%.1f/s), %d refused\n", f.Connected, f.Moves,
		float64(f.Moves)/max(took, time.Millisecond).Seconds(), f.Refused)
}

// player starts the engine, or returns the built-in player, and its name.
func (f *botFlags) player(ctx context.Context, say func(string)) (bot.Player, string, error) {
	words := strings.Fields(f.engine)
	if len(words) == 0 {
		return bot.Novice{Player: novice.Player{Depth: f.depth, Seed: f.seed}}, "the built-in player", nil
	}
	o := bot.EngineOptions{Config: uci.Config{Command: words}, Count: f.engines, Limit: f.limit, Variety: f.variety,
		Seed: f.seed, Log: say}
	o.Limit.Depth = f.depth
	if o.Limit == (uci.Limit{}) {
		o.Limit.Time = 100 * time.Millisecond
	}
	if o.Count == 0 {
		o.Count = min(f.players, runtime.NumCPU())
	}
	o.Prefer = [][2]string{{"Threads", strconv.Itoa(f.threads)}, {"Hash", strconv.Itoa(f.hash)}}
	if f.elo > 0 {
		o.Set = append(o.Set, [2]string{"UCI_LimitStrength", "true"}, [2]string{"UCI_Elo", strconv.Itoa(f.elo)})
	}
	if f.skill >= 0 {
		o.Set = append(o.Set, [2]string{"Skill Level", strconv.Itoa(f.skill)})
	}
	for _, text := range f.options {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, "", fmt.Errorf("--option is NAME=VALUE, not %q", text)
		}
		o.Set = append(o.Set, [2]string{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
	engines, err := bot.StartEngines(ctx, o)
	if err != nil {
		return nil, "", games(err, words[0])
	}
	return engines, engines.Name(), nil
}

// gamesDir is where Debian installs engines. It is not in the PATH of root.
var gamesDir = "/usr/games"

// games adds to the error that a command is not found that it is among the games, if it is.
func games(err error, name string) error {
	path := filepath.Join(gamesDir, name)
	if _, missing := os.Stat(path); !errors.Is(err, exec.ErrNotFound) || missing != nil {
		return err
	}
	return fmt.Errorf("%w; --engine %s names the one that is there", err, path)
}
