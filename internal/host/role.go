package host

import (
	"context"
	"fmt"
	"slices"
)

// Role is what somebody may do at the console. Each may do what those before it may.
type Role uint8

// The closed list of roles.
const (
	Read     Role = iota + 1 // look at everything but secrets
	Moderate                 // change what is about players and their games
	Operate                  // change the server
)

var roleNames = []string{"", "read", "moderate", "operate"}

func (r Role) String() string {
	if int(r) >= len(roleNames) {
		return fmt.Sprintf("Role(%d)", uint8(r))
	}
	return roleNames[r]
}

// parseRole reads the name of a role.
func parseRole(text string) (Role, error) {
	if i := slices.Index(roleNames, text); i > 0 {
		return Role(i), nil
	}
	return 0, fmt.Errorf("%q is not a role: they are read, moderate and operate", text)
}

// Actor is who gives a command at the console.
type Actor struct {
	Name string
	Role Role
}

// Owner is whoever has the token of the server's own file.
var Owner = Actor{Name: "admin", Role: Operate}

// from says who it was, for the audit log.
func (a Actor) from(address string) string {
	return fmt.Sprintf("console, %s (%s) at %s", a.Name, a.Role, address)
}

// needs is the role that the command takes.
func (c *Command) needs() Role {
	if !c.Changes {
		return max(c.Role, Read)
	}
	return max(c.Role, Moderate)
}

// allowed says why somebody may not give the command; nil: he may.
func (c *Command) allowed(a Actor) error {
	return unless(a.Role >= c.needs(), "%s needs the role %s, and %s has the role %s", c.Name, c.needs(), a.Name, a.Role)
}

type actorKey struct{}

// withActor keeps who sent a request.
func withActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// actorOf is who sent a request; nobody, if it did not pass a door.
func actorOf(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	return a
}
