package access

import (
	"time"

	"wamble/wire"
)

// capabilities lists for each bit of session.caps the requests and rights that it needs.
var capabilities = []struct {
	bit      wire.SessionCaps
	requests []wire.Control
	rights   []Right
}{
	{wire.MayAttachIdentity, []wire.Control{wire.CtrlLoginRequest}, nil},
	{wire.MayLogout, []wire.Control{wire.CtrlLogout}, nil},
	{wire.MayMove, []wire.Control{wire.CtrlGetLegalMoves, wire.CtrlPlayerMove}, []Right{{"game.move", "legal", "", ""}, {"game.move", "play", "", ""}}},
	{wire.MayReadStats, []wire.Control{wire.CtrlGetPlayerStats}, []Right{{"stats.read", "player", "", ""}}},
	{wire.MayReadLeaderboard, []wire.Control{wire.CtrlGetLeaderboard}, []Right{{"leaderboard.read", "global", "", ""}}},
	{wire.MayWatchSummary, []wire.Control{wire.CtrlSpectateGame, wire.CtrlSpectateStop}, []Right{{"spectate.access", "view", "mode", "summary"}}},
	{wire.MayWatchFocus, []wire.Control{wire.CtrlSpectateGame, wire.CtrlSpectateStop}, []Right{{"spectate.access", "view", "mode", "focus"}}},
	{wire.MayPredict, []wire.Control{wire.CtrlSubmitPrediction}, nil},
	{wire.MayReadPredictions, []wire.Control{wire.CtrlGetPredictions}, []Right{{"prediction.read", "tree", "depth", "0"}}},
	{wire.MaySeeGameMode, nil, []Right{{"game.mode", "view", "", ""}}},
}

// Caps returns what the policy lets a player do. Without rules that is the same for all players, and was
// computed by SetConfig.
func (p *Policy) Caps(now time.Time, who Who) wire.SessionCaps {
	if p.rules.Empty() {
		return p.caps
	}
	return p.askCaps(now, who)
}

func (p *Policy) askCaps(now time.Time, who Who) wire.SessionCaps {
	var caps wire.SessionCaps
	for i := range capabilities {
		if p.may(now, who, i) {
			caps |= capabilities[i].bit
		}
	}
	return caps
}

func (p *Policy) may(now time.Time, who Who, i int) bool {
	for _, c := range capabilities[i].requests {
		if !p.Allows(now, who, c) {
			return false
		}
	}
	for _, right := range capabilities[i].rights {
		if !p.Decide(now, who, right).Allowed {
			return false
		}
	}
	return true
}
