package profile

import (
	"wamble"
	"wamble/wire"
)

// route is the row of one control code that clients send.
type route struct {
	ctrl  wire.Control
	looks looks // where the player of the token is looked for
	must  bool  // without a player it is refused: 1007
	// writes says that it decides something that is to be kept: it is turned
	// away while the journal has no room.
	writes bool
	// handle decides a request. It gives all answers before it returns done, or
	// has put the request behind a load.
	handle func(*Profile, *request, *Output) verdict
}

// looks is where the player of a request's token is looked for.
type looks uint8

const (
	nowhere    looks = iota // the request does not need to know
	inMemory                // whoever is not here has nothing to lose
	everywhere              // here, and then in the store
)

// routes is the one table of requests. What comes before a handler, in this
// order: the rate limits (link), requests of the same token that wait, the
// policy, the player. A row without its handler yet is refused: 1001.
var routes []route

func init() { // handlers look at the table through capsOf
	routes = []route{
		{ctrl: wire.CtrlClientHello, looks: everywhere, writes: true, handle: (*Profile).hello},
		{ctrl: wire.CtrlPlayerMove, looks: everywhere, must: true, writes: true, handle: (*Profile).move},
		{ctrl: wire.CtrlGetLegalMoves, looks: everywhere, must: true, handle: (*Profile).legal},
		{ctrl: wire.CtrlClientGoodbye, looks: inMemory, writes: true, handle: (*Profile).goodbye},
		{ctrl: wire.CtrlListProfiles},
		{ctrl: wire.CtrlGetProfileInfo},
		{ctrl: wire.CtrlSpectateGame, looks: everywhere, must: true, handle: (*Profile).spectate},
		{ctrl: wire.CtrlSpectateStop, looks: inMemory, handle: (*Profile).stopSpectating},
		{ctrl: wire.CtrlLoginRequest},
		{ctrl: wire.CtrlLogout},
		{ctrl: wire.CtrlGetPlayerStats},
		{ctrl: wire.CtrlGetLeaderboard},
		{ctrl: wire.CtrlSubmitPrediction, looks: everywhere, must: true, writes: true, handle: (*Profile).predict},
		{ctrl: wire.CtrlGetPredictions, looks: everywhere, must: true, handle: (*Profile).predictions},
		{ctrl: wire.CtrlGetProfileTOS},
		{ctrl: wire.CtrlAcceptProfileTOS},
		{ctrl: wire.CtrlGetActiveReservations},
	}
	for _, row := range routes {
		if row.handle == nil {
			row.handle = notYet
		}
		byControl[row.ctrl] = row
	}
}

// byControl is routes, to be found at once. A code that only servers send is
// acknowledged and ignored, as the original does.
var byControl [256]route

func routeOf(c wire.Control) *route {
	if byControl[c].handle == nil {
		return &ignored
	}
	return &byControl[c]
}

var ignored = route{handle: func(*Profile, *request, *Output) verdict { return done }}

// notYet answers what this server does not do.
func notYet(p *Profile, r *request, _ *Output) verdict {
	p.deny(r, &wamble.Denied{Code: wamble.AccessDenied, Reason: "this server does not do that"})
	return done
}

// allows asks the policy about a request. There are no rules yet, only their
// default.
func (p *Profile) allows(wire.Control) bool { return p.cfg.Standing.PolicyDefault != "deny" }

// serves reports whether a request is allowed and has a handler.
func (p *Profile) serves(c wire.Control) bool {
	for i := range routes {
		if routes[i].ctrl == c {
			return routes[i].handle != nil && p.allows(c)
		}
	}
	return false
}
