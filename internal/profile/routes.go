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
	terms bool  // it is refused until the player has accepted the terms: 1001
	// action and resource are what the policy is asked about beside the request
	// itself; "": nothing.
	action, resource string
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
// order: the rate limits (link), requests of the same token that wait, bans, the
// player, the policy, the terms. A row without its handler yet is refused: 1001.
var routes []route

func init() { // handlers look at the table through capsOf
	routes = []route{
		{ctrl: wire.CtrlClientHello, looks: everywhere, writes: true, handle: (*Profile).hello},
		{ctrl: wire.CtrlPlayerMove, looks: everywhere, action: "game.move", resource: "play", must: true, terms: true, writes: true, handle: (*Profile).move},
		{ctrl: wire.CtrlGetLegalMoves, looks: everywhere, action: "game.move", resource: "legal", must: true, terms: true, handle: (*Profile).legal},
		{ctrl: wire.CtrlClientGoodbye, looks: inMemory, writes: true, handle: (*Profile).goodbye},
		{ctrl: wire.CtrlListProfiles, looks: everywhere, handle: (*Profile).listProfiles},
		{ctrl: wire.CtrlGetProfileInfo, looks: everywhere, handle: (*Profile).profileInfo},
		{ctrl: wire.CtrlGetProfileTOS, looks: everywhere, handle: (*Profile).readTerms},
		{ctrl: wire.CtrlAcceptProfileTOS, looks: everywhere, writes: true, handle: (*Profile).acceptTerms},
		{ctrl: wire.CtrlLoginRequest, looks: everywhere, writes: true, handle: (*Profile).login},
		{ctrl: wire.CtrlLogout, looks: everywhere, writes: true, handle: (*Profile).logout},
		{ctrl: wire.CtrlGetPlayerStats, looks: everywhere, terms: true, handle: (*Profile).playerStats},
		{ctrl: wire.CtrlGetLeaderboard, looks: everywhere, action: "leaderboard.read", resource: "global", terms: true, handle: (*Profile).leaderboard},
		{ctrl: wire.CtrlGetActiveReservations, looks: everywhere, handle: (*Profile).reservations},
		{ctrl: wire.CtrlSpectateGame, looks: everywhere, must: true, terms: true, handle: (*Profile).spectate},
		{ctrl: wire.CtrlSpectateStop, looks: inMemory, terms: true, handle: (*Profile).stopSpectating},
		{ctrl: wire.CtrlSubmitPrediction, looks: everywhere, must: true, terms: true, writes: true, handle: (*Profile).predict},
		{ctrl: wire.CtrlGetPredictions, looks: everywhere, must: true, terms: true, handle: (*Profile).predictions},
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

// serves reports whether a request has a handler.
func serves(c wire.Control) bool {
	for i := range routes {
		if routes[i].ctrl == c {
			return routes[i].handle != nil
		}
	}
	return false
}
