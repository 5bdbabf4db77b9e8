package admin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"wamble"
)

// Tokens has the admin tokens besides the one in the server's own file, each with a name and
// a role. Their hashes are stored in a file of the data directory.
type Tokens struct {
	path string
	mu   sync.Mutex
	list []adminToken
}

// adminToken is one admin token. Its name identifies its owner.
type adminToken struct {
	Name    string    `json:"name"`
	Role    string    `json:"role"`
	Created time.Time `json:"created"`
	Hash    string    `json:"hash,omitempty"` // SHA-256, in hex; left out of lists
}

// maxTokens bounds the number of tokens.
const maxTokens = 256

// ReadTokens reads the tokens of a data directory.
func ReadTokens(dir string) (*Tokens, error) {
	t := &Tokens{path: filepath.Join(dir, "admin-tokens.json")}
	text, err := os.ReadFile(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &t.list)
	}
	if err != nil {
		return nil, fmt.Errorf("the admin tokens in %s: %w", t.path, err)
	}
	return t, nil
}

func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Who returns the owner of a token, with their role.
func (t *Tokens) Who(token string) (Actor, bool) {
	hash := hashToken(token)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, known := range t.list {
		if role, err := parseRole(known.Role); err == nil && known.Hash == hash {
			return Actor{known.Name, role}, true
		}
	}
	return Actor{}, false
}

// create makes a token and stores its hash.
func (t *Tokens) create(name string, role Role, now time.Time) (string, error) {
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return "", err
	}
	token := base64.RawURLEncoding.EncodeToString(secret[:])
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case name == Owner.Name || slices.ContainsFunc(t.list, func(known adminToken) bool { return known.Name == name }):
		return "", fmt.Errorf("there is a token of %s already; 'wamble token-revoke %s' ends it", name, name)
	case len(t.list) >= maxTokens:
		return "", fmt.Errorf("there are %d tokens already", maxTokens)
	}
	return token, t.write(append(slices.Clone(t.list), adminToken{
		name, role.String(), now.UTC().Truncate(time.Second), hashToken(token),
	}))
}

// revoke removes a token.
func (t *Tokens) revoke(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(t.list), func(known adminToken) bool { return known.Name == name })
	if len(list) == len(t.list) {
		return fmt.Errorf("nobody called %s has a token", name)
	}
	return t.write(list)
}

// all returns the tokens without their hashes.
func (t *Tokens) all() []adminToken {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := slices.Clone(t.list)
	for i := range list {
		list[i].Hash = ""
	}
	return slices.Clip(append([]adminToken{}, list...))
}

// write replaces the file and the list. The caller holds the lock.
func (t *Tokens) write(list []adminToken) error {
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(t.path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("the admin tokens: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(t.path+".new", t.path)
	}
	if err != nil {
		return fmt.Errorf("the admin tokens: %w", err)
	}
	t.list = list
	return nil
}

// Created is the result of token-create.
type Created struct {
	Name  string `json:"name"`
	Role  string `json:"role"`
	Token string `json:"token"`
}

// tokenCommands has the commands about admin tokens.
var tokenCommands = []Command{
	{
		Name: "token-create", Channels: allChannels, Changes: true, Role: Operate, Patience: quick,
		Args: []Arg{tokenName, tokenRole},
		Help: Help{
			Short: "Give somebody a token for the console",
			Long: `Token-create makes an admin token for somebody and prints it, once: only its hash is
kept. The roles are
  read      looks at everything that the console shows, and at the metrics, but does
            not look for players by token
  moderate  also acts on players and their games
  operate   also changes the server, and gives tokens
The token in the file admin-token has the role operate. What somebody does is in the
audit log with their name.`,
			Example: `  wamble token-create ann moderate`,
		},
		Page: Page{"tokens", "Give a token", "{name} gets a token with the role {role}."},
		Doc: Doc{
			`{"name": "ann", "role": "moderate"}`,
			"makes an admin token and tells it, once; the roles are read, moderate and operate",
		},
		Line: Line{Result: func() any { return new(Created) }, JSON: true, Print: func(w io.Writer, result any) error {
			_, err := fmt.Fprintln(w, result.(*Created).Token)
			return err
		}},
		Do: func(_ context.Context, h *Host, c *Call) (any, error) {
			a, err := h.arguments("token-create", c)
			if err != nil {
				return nil, err
			}
			role, err := parseRole(a.Role)
			if err != nil {
				return nil, err
			}
			token, err := h.Tokens.create(a.Name, role, time.Now())
			return Created{a.Name, a.Role, token}, err
		},
	},
	{
		Name: "token-revoke", Channels: allChannels, Changes: true, Role: Operate, Patience: quick,
		Args: []Arg{tokenName},
		Help: Help{
			Short:   "End somebody's token for the console",
			Long:    "Token-revoke ends a token that 'wamble token-create' has made, at once.",
			Example: `  wamble token-revoke ann`,
		},
		Page: Page{"token-ends", "End a token", "{name} cannot use the console any more."},
		Doc:  Doc{`{"name": "ann"}`, "ends a token at once"},
		Line: Line{Result: func() any { return new(struct{}) }, Print: func(w io.Writer, _ any) error {
			_, err := fmt.Fprintln(w, "ended")
			return err
		}},
		Do: func(_ context.Context, h *Host, c *Call) (any, error) {
			a, err := h.arguments("token-revoke", c)
			if err != nil {
				return nil, err
			}
			return struct{}{}, h.Tokens.revoke(a.Name)
		},
	},
	{
		Name: "tokens", Channels: allChannels, Patience: quick,
		Help: Help{
			Short:   "List who has a token for the console",
			Long:    "Tokens lists the names and roles of the tokens that 'wamble token-create' has made.",
			Example: `  wamble tokens`,
		},
		Doc: Doc{Text: "the names and roles of the admin tokens beside that of `admin-token`"},
		Line: Line{Result: func() any { return new([]adminToken) }, JSON: true,
			Print: func(w io.Writer, result any) error {
				list := *result.(*[]adminToken)
				if len(list) == 0 {
					_, err := fmt.Fprintln(w,
						"none beside that of the server's own file; 'wamble token-create' makes one")
					return err
				}
				for _, t := range list {
					if _, err := fmt.Fprintf(w, "%-20s %-9s since %s\n", t.Name, t.Role,
						t.Created.Format(time.DateTime)); err != nil {
						return err
					}
				}
				return nil
			}},
		Do: func(_ context.Context, h *Host, _ *Call) (any, error) { return h.Tokens.all(), nil },
	},
}

// The arguments of commands about tokens.
var (
	tokenName = Arg{
		Name: "name", Kind: Text, Label: "Name", Max: wamble.MaxName, Word: "NAME", Missing: "a name",
		At: func(a *Arguments) any { return &a.Name },
		Check: func(a *Arguments) error {
			return unless(wamble.IsName(a.Name) && len(a.Name) <= wamble.MaxName,
				"a name has 3 to 20 letters, digits, - or _")
		},
	}
	tokenRole = Arg{
		Name: "role", Kind: Text, Label: "Role: read, moderate or operate", Max: 16, Word: "ROLE", Missing: "a role",
		Choice: []string{"read", "moderate", "operate"},
		At:     func(a *Arguments) any { return &a.Role },
		Check:  func(a *Arguments) error { _, err := parseRole(a.Role); return err },
	}
)

// arguments parses and checks the arguments of a command with Do.
func (h *Host) arguments(name string, call *Call) (*Arguments, error) {
	a := &Arguments{}
	return a, h.command(name).parse(a, call.Args)
}
