package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// Role is a level of permissions at the console. Each includes those before it.
type Role uint8

// The closed list of roles.
const (
	Read     Role = iota + 1 // read everything but secrets, and try no tokens
	Moderate                 // act on players and their games
	Operate                  // change the server
)

var roleNames = []string{"", "read", "moderate", "operate"}

func (r Role) String() string {
	if int(r) >= len(roleNames) {
		return fmt.Sprintf("Role(%d)", uint8(r))
	}
	return roleNames[r]
}

// parseRole parses the name of a role.
func parseRole(text string) (Role, error) {
	if i := slices.Index(roleNames, text); i > 0 {
		return Role(i), nil
	}
	return 0, fmt.Errorf("%q is not a role: they are read, moderate and operate", text)
}

// Actor is a user of the console.
type Actor struct {
	Name string
	Role Role
}

// Owner is the actor of the token in the server's own file.
var Owner = Actor{Name: "admin", Role: Operate}

// from describes the actor and their address for the audit log.
func (a Actor) from(address string) string {
	return fmt.Sprintf("console, %s (%s) at %s", a.Name, a.Role, address)
}

// needs returns the role that the command requires.
func (c *Command) needs() Role {
	if !c.Changes {
		return max(c.Role, Read)
	}
	return max(c.Role, Moderate)
}

// allowed returns an error unless the actor's role suffices for the command.
func (c *Command) allowed(a Actor) error { return a.requires(c.needs(), c.Name) }

// allowedWith is allowed for a command that reads, and its arguments.
func (c *Command) allowedWith(a Actor, args json.RawMessage) error {
	if !c.hasToken(args) {
		return nil
	}
	return a.requires(Operate, c.Name+" with a token (the digits of a key have key: before them)")
}

// requires returns an error unless the actor has a role.
func (a Actor) requires(role Role, what string) error {
	return unless(a.Role >= role, "%s needs the role %s, and %s has the role %s", what, role, a.Name, a.Role)
}

type actorKey struct{}

// withActor returns a context with the actor of a request.
func withActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// actorOf returns the actor of a request; zero if its token was not checked.
func actorOf(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	return a
}
