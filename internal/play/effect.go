package play

import (
	"time"

	"wamble"
	"wamble/wire"
)

// Effect is something to be done for the player. Each request to the server is answered by one
// message: the one that its comment names, or Refused.
type Effect any

// The effects.
type (
	// Say shows the player a text of one or more lines.
	Say struct{ Text string }
	// Show is Say for a text that the player has requested; it may be long.
	Show struct{ Text string }
	// News reports a change on a watched board.
	News struct{ Text string }
	// Keep stores the result of Game.Saved.
	Keep struct{}
	// KeepIdentity stores the identity for all servers; nil deletes it.
	KeepIdentity struct{ Identity *Mnemonic }
	// Quit ends the program.
	Quit struct{}

	// Hello requests a board after the time After. Answer: Greeted.
	Hello struct{ After time.Duration }
	// Alive tells the server that the player is active. It has no answer.
	Alive struct{}
	// Move plays a move. Answer: Moved.
	Move struct {
		Board wamble.BoardID
		UCI   string
	}
	// Predict predicts the next move of a board. Answer: Predicted.
	Predict struct {
		Board    wamble.BoardID
		UCI, SAN string
	}
	// AskPredictions requests the predictions for a board. Answer: Predictions.
	AskPredictions struct {
		Board wamble.BoardID
		Tell  bool
	}
	// AskStats requests the player's statistics. Answer: Stats.
	AskStats struct{ Tell bool }
	// AskRanking requests the first pages of the two rankings. Answer: Ranking.
	AskRanking struct{}
	// NewIdentity requests 16 random bytes. Answer: MadeIdentity.
	NewIdentity struct{}
	// Login links the session to an identity. Answer: LoggedIn.
	Login struct{ Identity Mnemonic }
	// Logout ends the link. Answer: Greeted, as a new player.
	Logout struct{}
	// SetName sets the player's name. Answer: Stats.
	SetName struct{ Name string }
	// AskTerms requests the terms of service, AcceptTerms accepts them. Answer: Terms.
	AskTerms    struct{}
	AcceptTerms struct{}
	// Watch watches a board, or all boards with 0. Answer: Watching, then Seen for each change.
	Watch struct{ Board wamble.BoardID }
	// StopWatching stops that. Answer: WatchEnded.
	StopWatching struct{}
	// Look requests the games on boards of the trail. Answer: Looked.
	Look struct {
		Boards []wamble.BoardID
		Tell   bool // the player has requested the trail
	}
)

// Msg is an event for the player.
type Msg any

// Assignment is the player's board, or their place in the queue for a board.
type Assignment struct {
	Board *Board // nil if the player has no board
	Place int    // place in the queue; 0 if unknown
	// Renewed says that the server no longer knew the session and began a new one.
	Renewed bool
	Caps    wire.SessionCaps
}

// The messages.
type (
	// Greeted answers Hello.
	Greeted struct{ Assignment }
	// Moved answers Move.
	Moved struct{ Assignment }
	// Given is a board that the server assigned by itself: it took back the old one, or the
	// player was waiting.
	Given struct{ Assignment }
	// Away says that the connection broke, Back that it is restored.
	Away struct{}
	Back struct{ Assignment }
	// Ended says that the session cannot be resumed.
	Ended struct{ Why string }
	// Refused says why an effect failed.
	Refused struct {
		What Effect
		Why  string // text of the server
		// Made says that the move was made nevertheless, Unsure that this is unknown.
		Made, Unsure bool
	}
	// Notice is a text from the server or its host.
	Notice struct {
		Type  wire.NoticeType
		Board wamble.BoardID
		Text  string
		// An announcement that stays has an ID and is repeated. For is how long it still stays,
		// 0 if it is withdrawn; Countdown says that an event happens at the end of that time.
		ID        int64
		For       time.Duration
		Countdown bool
	}
	// Predicted is the result of a prediction.
	Predicted struct {
		Predict
		Status wire.SubmitStatus // 0 if the server does not send it
	}
	// Predictions are the predictions for a board, the most frequent first.
	Predictions struct {
		Board wamble.BoardID
		Rows  []Prediction
		Tell  bool
	}
	// Stats are the player's statistics.
	Stats struct {
		Score    float64
		Games    int
		Handle   string
		Identity bool
		Tell     bool
		Named    bool // answers SetName
	}
	// Ranking has the first pages of people and of bots.
	Ranking struct{ Rows, Bots []Rank }
	// MadeIdentity has the random bytes of a new identity.
	MadeIdentity struct{ Identity Mnemonic }
	// LoggedIn says that the session is linked to the identity.
	LoggedIn struct {
		Assignment
		Identity Mnemonic
	}
	// Terms are the server's terms of service; Accepted says that the player has accepted them.
	Terms struct {
		Text     string
		Accepted bool
	}
	// Watching says that Board, or with 0 every board, is watched from now on.
	Watching struct{ Board wamble.BoardID }
	// Seen is a change of the watched boards.
	Seen struct {
		Board *Board // may be nil. Reset drops all boards seen so far, and Gone one of them
		Gone  wamble.BoardID
		Reset bool
	}
	// WatchEnded says that no board is watched any more.
	WatchEnded struct{ Why string }
	// Looked has the games that were found.
	Looked struct {
		Records []Record
		Tell    bool
	}
)

// Prediction is a predicted move, and the number of players who predict it.
type Prediction struct {
	UCI   string
	Count int
	Own   bool
}

// Rank is a row of the ranking.
type Rank struct {
	Rank          int
	Name          string
	Score, Rating float64
	Own           bool
}

// Saved is stored for a server between two runs.
type Saved struct {
	Trail []Step `json:"trail,omitempty"`
	// Pending is a move without an answer when the player left.
	Pending *Step `json:"pending,omitempty"`
}
