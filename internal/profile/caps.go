package profile

import (
	"wamble/internal/session"
	"wamble/wire"
)

// capabilities is what each bit of session.caps needs: requests that are
// allowed and have a handler, and actions that are allowed.
var capabilities = []struct {
	bit     wire.SessionCaps
	needs   []wire.Control
	actions []action
}{
	{wire.MayAttachIdentity, []wire.Control{wire.CtrlLoginRequest}, nil},
	{wire.MayLogout, []wire.Control{wire.CtrlLogout}, nil},
	{wire.MayMove, []wire.Control{wire.CtrlGetLegalMoves, wire.CtrlPlayerMove}, []action{{"game.move", "legal", "", ""}, {"game.move", "play", "", ""}}},
	{wire.MayReadStats, []wire.Control{wire.CtrlGetPlayerStats}, []action{{"stats.read", "player", "", ""}}},
	{wire.MayReadLeaderboard, []wire.Control{wire.CtrlGetLeaderboard}, []action{{"leaderboard.read", "global", "", ""}}},
	{wire.MayWatchSummary, []wire.Control{wire.CtrlSpectateGame, wire.CtrlSpectateStop}, []action{{"spectate.access", "view", "mode", "summary"}}},
	{wire.MayWatchFocus, []wire.Control{wire.CtrlSpectateGame, wire.CtrlSpectateStop}, []action{{"spectate.access", "view", "mode", "focus"}}},
	{wire.MayPredict, []wire.Control{wire.CtrlSubmitPrediction}, nil},
	{wire.MayReadPredictions, []wire.Control{wire.CtrlGetPredictions}, []action{{"prediction.read", "tree", "depth", "0"}}},
	{wire.MaySeeGameMode, nil, []action{{"game.mode", "view", "", ""}}},
}

// action is something that the policy is asked about, with its context.
type action struct{ name, resource, key, value string }

// capsOf returns what a session may do that holds a board: nothing while it has
// to accept the terms. Without rules that is the same for all, and was computed
// with the configuration.
func (p *Profile) capsOf(s *session.Session) wire.SessionCaps {
	if t := &p.mode.law.own.terms; t.text != "" {
		if accepted, _ := s.Terms(t.revision); !accepted {
			return 0
		}
	}
	if p.mode.law.book.Empty() {
		return p.mode.caps
	}
	return p.caps(s)
}

// caps asks the policy what a session may do, nil for a guest.
func (p *Profile) caps(s *session.Session) wire.SessionCaps {
	var caps wire.SessionCaps
	for i := range capabilities {
		if p.may(s, i) {
			caps |= capabilities[i].bit
		}
	}
	if !p.audience.book.Open() {
		caps &^= wire.MayPredict | wire.MayReadPredictions
	}
	return caps
}

func (p *Profile) may(s *session.Session, i int) bool {
	for _, ctrl := range capabilities[i].needs {
		if !serves(ctrl) || !p.allows(s, ctrl) {
			return false
		}
	}
	for _, a := range capabilities[i].actions {
		if !p.decide(s, a.name, a.resource, a.key, a.value).Allowed {
			return false
		}
	}
	return true
}
