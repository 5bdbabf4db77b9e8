package profile

import (
	"wamble/internal/access"
	"wamble/wire"
)

// route is the row of one control code that clients send.
type route struct {
	ctrl  wire.Control
	looks looks // where the player of the token is looked for
	must  bool  // without a player the request is refused: 1007
	terms bool  // the request is refused until the player has accepted the terms: 1001
	// needs is what the policy is asked about beside the request itself, if it has
	// an action.
	needs access.Right
	// writes says that the request decides something that is to be kept: it is
	// turned away while the journal has no room.
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
// player, the policy, the terms.
var routes = []route{
	{ctrl: wire.CtrlClientHello, looks: everywhere, writes: true, handle: (*Profile).hello},
	{ctrl: wire.CtrlPlayerMove, looks: everywhere, needs: access.Right{Action: "game.move", Resource: "play"}, must: true, terms: true, writes: true, handle: (*Profile).move},
	{ctrl: wire.CtrlGetLegalMoves, looks: everywhere, needs: access.Right{Action: "game.move", Resource: "legal"}, must: true, terms: true, handle: (*Profile).legal},
	{ctrl: wire.CtrlClientGoodbye, looks: inMemory, writes: true, handle: (*Profile).goodbye},
	{ctrl: wire.CtrlListProfiles, looks: everywhere, handle: (*Profile).listProfiles},
	{ctrl: wire.CtrlGetProfileInfo, looks: everywhere, handle: (*Profile).profileInfo},
	{ctrl: wire.CtrlGetProfileTOS, looks: everywhere, handle: (*Profile).readTerms},
	{ctrl: wire.CtrlAcceptProfileTOS, looks: everywhere, writes: true, handle: (*Profile).acceptTerms},
	{ctrl: wire.CtrlLoginRequest, looks: everywhere, writes: true, handle: (*Profile).login},
	{ctrl: wire.CtrlLogout, looks: everywhere, writes: true, handle: (*Profile).logout},
	{ctrl: wire.CtrlGetPlayerStats, looks: everywhere, terms: true, handle: (*Profile).playerStats},
	{ctrl: wire.CtrlGetLeaderboard, looks: everywhere, needs: access.Right{Action: "leaderboard.read", Resource: "global"}, terms: true, handle: (*Profile).leaderboard},
	{ctrl: wire.CtrlGetActiveReservations, looks: everywhere, handle: (*Profile).reservations},
	{ctrl: wire.CtrlGetSessions, looks: everywhere, must: true, handle: (*Profile).listSessions},
	{ctrl: wire.CtrlRevokeSessions, looks: everywhere, must: true, writes: true, handle: (*Profile).revokeSessions},
	{ctrl: wire.CtrlSetName, looks: everywhere, must: true, terms: true, writes: true, handle: (*Profile).setName},
	{ctrl: wire.CtrlSpectateGame, looks: everywhere, must: true, terms: true, handle: (*Profile).spectate},
	{ctrl: wire.CtrlSpectateStop, looks: inMemory, terms: true, handle: (*Profile).stopSpectating},
	{ctrl: wire.CtrlSubmitPrediction, looks: everywhere, must: true, terms: true, writes: true, handle: (*Profile).predict},
	{ctrl: wire.CtrlGetPredictions, looks: everywhere, must: true, terms: true, handle: (*Profile).predictions},
}

// byControl is routes by control code. A code that only servers send is
// acknowledged and ignored, as the original does.
var byControl = func() (rows [256]route) {
	for c := range rows {
		rows[c].handle = func(*Profile, *request, *Output) verdict { return done }
	}
	for _, row := range routes {
		rows[row.ctrl] = row
	}
	return rows
}()
