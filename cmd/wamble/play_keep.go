package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"wamble"
	"wamble/internal/play"
)

// stateDir returns the directory of a player's files.
func stateDir(flag string, getenv func(string) string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "wamble-play"), nil
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "state", "wamble-play"), nil
	}
	return "", errors.New("no place for what belongs to you: use --state DIR, or set HOME")
}

// keeper stores the files of a player: one for each server, and the player's identity, which
// all servers share. They are readable by their owner alone.
type keeper struct {
	dir, name string
	lock      *os.File
	shared    bool // another process plays at this server: nothing is stored
	file      keptFile
	identity  *play.Mnemonic // nil if there is none
}

// keptFile is the file of one server.
type keptFile struct {
	Token    string `json:"token,omitempty"`
	LoggedIn bool   `json:"logged_in,omitempty"` // the session belongs to the identity
	play.Saved
}

// token returns the token of the session; zero if there is none.
func (f *keptFile) token() wamble.Token {
	t, err := wamble.ParseToken(f.Token)
	if err != nil {
		return wamble.Token{}
	}
	return t
}

// identityFile is the name of the file with the identity's entropy, in hexadecimal digits. Before that of a client
// of the original stands originalPrefix.
const (
	identityFile   = "identity"
	originalPrefix = "original "
)

// openKeeper locks and reads the files for a server.
func openKeeper(dir, address string) (*keeper, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	k := &keeper{dir: dir, name: strings.NewReplacer(":", "_", "[", "", "]", "", "/",
		"_").Replace(strings.ToLower(u.Host)) + ".json"}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("what belongs to you cannot be kept: %w", err)
	}
	if k.lock, err = os.OpenFile(filepath.Join(dir, k.name+".lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, fmt.Errorf("what belongs to you cannot be kept: %w", err)
	}
	// Two processes with one session would use the same sequence numbers.
	k.shared = unix.Flock(int(k.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
	if err := k.read(); err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

func (k *keeper) close() { k.lock.Close() }

func (k *keeper) read() error {
	text, err := os.ReadFile(filepath.Join(k.dir, identityFile))
	if err == nil {
		digits, original := strings.CutPrefix(strings.TrimSpace(string(text)), originalPrefix)
		e := play.Mnemonic{Original: original}
		b, err := hex.DecodeString(digits)
		if err != nil || len(b) != len(e.Entropy) {
			return fmt.Errorf("%s is no identity: move it away, and 'identity' with your twelve words makes it anew",
				filepath.Join(k.dir, identityFile))
		}
		copy(e.Entropy[:], b)
		k.identity = &e
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if k.shared {
		return nil
	}
	text, err = os.ReadFile(filepath.Join(k.dir, k.name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &k.file)
	}
	if err != nil {
		return fmt.Errorf("%s: %w; move it away to begin as a new player", filepath.Join(k.dir, k.name), err)
	}
	return nil
}

// keep writes the file of the server.
func (k *keeper) keep() error {
	if k.shared {
		return nil
	}
	text, err := json.Marshal(k.file)
	if err != nil {
		return err
	}
	return k.write(k.name, text)
}

// keepIdentity writes the identity; nil removes it.
func (k *keeper) keepIdentity(e *play.Mnemonic) error {
	k.identity = e
	if e == nil {
		err := os.Remove(filepath.Join(k.dir, identityFile))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	text := hex.EncodeToString(e.Entropy[:]) + "\n"
	if e.Original {
		text = originalPrefix + text
	}
	return k.write(identityFile, []byte(text))
}

// write replaces a file atomically.
func (k *keeper) write(name string, text []byte) error {
	f, err := os.CreateTemp(k.dir, name+".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(k.dir, name))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
