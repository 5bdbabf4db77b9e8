package wamble

import (
	"slices"
	"strings"
)

// PolicyRule is one rule of a host's policy: it allows or denies an action to identities, in profiles, for
// a time.
type PolicyRule struct {
	Allow    bool
	Who      PolicyWho
	Action   string // one of PolicyActions
	Scope    PolicyScope
	Resource string // what the action is about, or "*" for anything
	// Level is what an allowed action grants: the trust tier of trust.tier, the depth of prediction.read
	// and prediction.write. It is not negative.
	Level   int
	Reason  string
	Version string
	// NotBefore and NotAfter are Unix seconds, inclusive; 0 means no bound.
	NotBefore, NotAfter int64
	// ContextKey and ContextValue restrict the rule to requests with this pair; an empty key means no
	// condition.
	ContextKey, ContextValue string
}

// PolicyWho selects identities. At most one field is set; the zero value selects all players.
type PolicyWho struct {
	ID  int64    // a player's number
	Key [32]byte // a player's public key
	Tag string   // all players with the tag at the time of the question
}

// IsZero reports whether w selects all players.
func (w PolicyWho) IsZero() bool { return w == PolicyWho{} }

// PolicyTag gives an identity a tag. Who has an ID or a Key.
type PolicyTag struct {
	Who PolicyWho
	Tag string
}

// PolicyScope selects profiles. At most one field is set; the zero value selects all.
type PolicyScope struct {
	Profile string
	Group   string // profile-group
}

// PolicyAction is an action that the server asks its policy about.
type PolicyAction struct {
	Name string
	// Resources are what the action can be about. An entry that ends in a colon stands for everything with
	// that prefix.
	Resources []string
	// Context is the key of the context that the server gives with the action, or "".
	Context string
	// Privilege says that the action needs a rule, whatever policy-default says.
	Privilege bool
}

// PolicyActions is the closed list of actions.
var PolicyActions = []PolicyAction{
	{Name: "trust.tier", Resources: []string{"tier"}, Privilege: true},
	{Name: "profile.discover.override", Resources: []string{"profile:", "profile_selector:"}, Privilege: true},
	{Name: "protocol.ctrl", Resources: PolicyRequests},
	{Name: "rate_limit.bypass", Resources: []string{"request"}, Context: "ctrl", Privilege: true},
	{Name: "game.move", Resources: []string{"play", "legal"}},
	{Name: "game.bot", Resources: []string{"play"}},
	{Name: "game.mode", Resources: []string{"view"}},
	{Name: "spectate.access", Resources: []string{"view"}, Context: "mode"},
	{Name: "spectate.capacity_bypass", Resources: []string{"focus"}, Privilege: true},
	{Name: "stats.read", Resources: []string{"player"}, Context: "target.identity_tag"},
	{Name: "leaderboard.read", Resources: []string{"global"}},
	{Name: "prediction.write", Resources: []string{"self", "streak", "gated"}, Context: "board"},
	{Name: "prediction.read", Resources: []string{"tree"}, Context: "depth"},
}

// PolicyRequests are the names of the requests of clients, in protocol.ctrl and in the context ctrl.
var PolicyRequests = []string{
	"client_hello", "player_move", "list_profiles", "client_goodbye", "spectate_game", "spectate_stop",
	"login_request", "logout", "get_player_stats", "get_profile_info", "get_legal_moves", "get_leaderboard",
	"submit_prediction", "get_predictions", "get_profile_tos", "accept_profile_tos", "get_active_reservations",
	"get_sessions", "revoke_sessions", "set_name",
}

// Knows reports whether the action can be about resource.
func (a PolicyAction) Knows(resource string) bool {
	return resource == "*" || slices.ContainsFunc(a.Resources, func(r string) bool {
		return r == resource || strings.HasSuffix(r, ":") && strings.HasPrefix(resource, r) && resource != r
	})
}
