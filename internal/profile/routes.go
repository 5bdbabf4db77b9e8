package profile

import (
	"wamble/internal/access"
	"wamble/wire"
)

// route is the row of one control code that clients send.
type route struct {
	ctrl        wire.Control
	lookup      lookup // where the session of the token is looked up
	needsPlayer bool   // without a session the request is refused: 1007
	terms       bool   // the request is refused until the session has accepted the terms: 1001
	// needs is the right that the policy is asked for, besides the request itself; none if it has no
	// action.
	needs access.Right
	// writes says that the request can change something: it is refused while the journal has no room.
	writes bool
	// handle decides a request. It gives all answers before it returns done, or queues the request behind a
	// load.
	handle func(*Profile, *request, *Output) verdict
}

// lookup is where the session of a request's token is looked up.
type lookup uint8

const (
	noLookup     lookup = iota // the request does not need the session
	memoryLookup               // a session outside memory has nothing to lose
	storeLookup                // in memory, then in the store
)

// routes is the one table of requests. Before the handler come, in this order: the rate limits (link),
// waiting requests of the same token, bans, the session, the policy, the terms.
var routes = []route{
	{ctrl: wire.CtrlClientHello, lookup: storeLookup, writes: true, handle: (*Profile).hello},
	{ctrl: wire.CtrlPlayerMove, lookup: storeLookup, needs: access.Right{Action: "game.move", Resource: "play"}, needsPlayer: true, terms: true, writes: true, handle: (*Profile).move},
	{ctrl: wire.CtrlGetLegalMoves, lookup: storeLookup, needs: access.Right{Action: "game.move", Resource: "legal"}, needsPlayer: true, terms: true, handle: (*Profile).legal},
	{ctrl: wire.CtrlClientGoodbye, lookup: memoryLookup, writes: true, handle: (*Profile).goodbye},
	{ctrl: wire.CtrlListProfiles, lookup: storeLookup, handle: (*Profile).listProfiles},
	{ctrl: wire.CtrlGetProfileInfo, lookup: storeLookup, handle: (*Profile).profileInfo},
	{ctrl: wire.CtrlGetProfileTOS, lookup: storeLookup, handle: (*Profile).readTerms},
	{ctrl: wire.CtrlAcceptProfileTOS, lookup: storeLookup, writes: true, handle: (*Profile).acceptTerms},
	{ctrl: wire.CtrlLoginRequest, lookup: storeLookup, writes: true, handle: (*Profile).login},
	{ctrl: wire.CtrlLogout, lookup: storeLookup, writes: true, handle: (*Profile).logout},
	{ctrl: wire.CtrlGetPlayerStats, lookup: storeLookup, terms: true, handle: (*Profile).playerStats},
	{ctrl: wire.CtrlGetLeaderboard, lookup: storeLookup, needs: access.Right{Action: "leaderboard.read", Resource: "global"}, terms: true, handle: (*Profile).leaderboard},
	{ctrl: wire.CtrlGetActiveReservations, lookup: storeLookup, handle: (*Profile).reservations},
	{ctrl: wire.CtrlGetSessions, lookup: storeLookup, needsPlayer: true, handle: (*Profile).listSessions},
	{ctrl: wire.CtrlRevokeSessions, lookup: storeLookup, needsPlayer: true, writes: true, handle: (*Profile).revokeSessions},
	{ctrl: wire.CtrlSetName, lookup: storeLookup, needsPlayer: true, terms: true, writes: true, handle: (*Profile).setName},
	{ctrl: wire.CtrlSpectateGame, lookup: storeLookup, needsPlayer: true, terms: true, handle: (*Profile).spectate},
	{ctrl: wire.CtrlSpectateStop, lookup: memoryLookup, terms: true, handle: (*Profile).stopSpectating},
	{ctrl: wire.CtrlSubmitPrediction, lookup: storeLookup, needsPlayer: true, terms: true, writes: true, handle: (*Profile).predict},
	{ctrl: wire.CtrlGetPredictions, lookup: storeLookup, needsPlayer: true, terms: true, handle: (*Profile).predictions},
}

// byControl has routes by control code. A code that only servers send is acknowledged and ignored, as in
// the original.
var byControl = func() (rows [256]route) {
	for c := range rows {
		rows[c].handle = func(*Profile, *request, *Output) verdict { return done }
	}
	for _, row := range routes {
		rows[row.ctrl] = row
	}
	return rows
}()
