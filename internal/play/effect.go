package play

import (
	"time"

	"wamble"
	"wamble/internal/phrase"
	"wamble/wire"
)

// Effect is what is to be done for the player. All that ask the server are answered by
// one message: the one that is named, or Refused.
type Effect any

// The effects.
type (
	// Say tells the player something: a line, or several.
	Say struct{ Text string }
	// Show is Say for what he has asked for himself, and may be long.
	Show struct{ Text string }
	// News is a change on a watched board.
	News struct{ Text string }
	// Keep stores what Game.Kept returns.
	Keep struct{}
	// KeepIdentity stores the identity for all servers; nil forgets it.
	KeepIdentity struct{ Entropy *phrase.Entropy }
	// Quit ends the program.
	Quit struct{}

	// Hello asks for a board once After has passed: Greeted.
	Hello struct{ After time.Duration }
	// Alive tells the server that the player is there. Nothing answers it.
	Alive struct{}
	// Move plays a move: Moved.
	Move struct {
		Board wamble.BoardID
		UCI   string
	}
	// Predict predicts the next move of a board: Predicted.
	Predict struct {
		Board    wamble.BoardID
		UCI, SAN string
	}
	// AskPredictions asks what is predicted on a board: Predictions.
	AskPredictions struct {
		Board wamble.BoardID
		Tell  bool
	}
	// AskStats asks for the player's own figures: Stats.
	AskStats struct{ Tell bool }
	// AskRanking asks for the first pages of the two rankings: Ranking.
	AskRanking struct{}
	// NewIdentity asks for 16 random bytes: MadeIdentity.
	NewIdentity struct{}
	// Login ties the session to an identity: LoggedIn.
	Login struct{ Entropy phrase.Entropy }
	// Logout unties it: Greeted, as a new player.
	Logout struct{}
	// SetName chooses the player's name: Stats.
	SetName struct{ Name string }
	// AskTerms asks for the terms of service, AcceptTerms accepts them: Terms.
	AskTerms    struct{}
	AcceptTerms struct{}
	// Watch watches a board, or with 0 all of them: Watching, then Seen for each change.
	Watch struct{ Board wamble.BoardID }
	// StopWatching ends that: WatchEnded.
	StopWatching struct{}
	// Look asks for the games on boards of the trail: Looked.
	Look struct {
		Boards []wamble.BoardID
		Tell   bool // the player has asked for the trail
	}
)

// Msg is what has happened.
type Msg any

// Seat is where the player is put: on a board, or on the list of those who wait.
type Seat struct {
	Board *Board // nil: none
	Place int    // among those who wait; 0: nobody knows
	// Renewed says that the server did not know the session any more.
	Renewed bool
	Caps    wire.SessionCaps
}

// The messages.
type (
	// Greeted answers Hello: where the player is.
	Greeted struct{ Seat }
	// Moved answers Move.
	Moved struct{ Seat }
	// Given is a board that nobody asked for: the old one was taken back, or the player
	// has waited for one.
	Given struct{ Seat }
	// Away: the connection broke. Back: it is there again.
	Away struct{}
	Back struct{ Seat }
	// Ended: there is no way back to the server.
	Ended struct{ Why string }
	// Refused says why an effect was not done.
	Refused struct {
		What Effect
		Why  string // as the server says it
		// Made says that a move was made all the same, Unsure that nobody knows.
		Made, Unsure bool
	}
	// Notice is what the server or its host tells.
	Notice struct {
		Type  wire.NoticeType
		Board wamble.BoardID
		Text  string
		// An announcement that stays has an ID and comes again. For is how long it stays
		// from now on, 0 if it is withdrawn; Countdown says that something happens then.
		ID        int64
		For       time.Duration
		Countdown bool
	}
	// Predicted says what became of a prediction.
	Predicted struct {
		Predict
		Status wire.SubmitStatus // 0: the server does not say
	}
	// Predictions are those of a board, the most frequent first.
	Predictions struct {
		Board wamble.BoardID
		Rows  []Prediction
		Tell  bool
	}
	// Stats are the player's figures.
	Stats struct {
		Score    float64
		Games    int
		Handle   string
		Identity bool
		Tell     bool
		Named    bool // they answer SetName
	}
	// Ranking is the first page of people, and that of programs.
	Ranking struct{ Rows, Bots []Rank }
	// MadeIdentity has the bytes of a new identity.
	MadeIdentity struct{ Entropy phrase.Entropy }
	// LoggedIn: the session belongs to the identity.
	LoggedIn struct {
		Seat
		Entropy phrase.Entropy
	}
	// Terms are those of the server; Accepted, that they are.
	Terms struct {
		Text     string
		Accepted bool
	}
	// Watching: from now on Board is watched, or with 0 all of them.
	Watching struct{ Board wamble.BoardID }
	// Seen is a change of what is watched.
	Seen struct {
		Board *Board // nil with Reset: what was seen is gone
		Gone  wamble.BoardID
		Reset bool
	}
	// WatchEnded: nothing is watched any more.
	WatchEnded struct{ Why string }
	// Looked has the games that were found.
	Looked struct {
		Records []Record
		Tell    bool
	}
)

// Prediction is a predicted move, and how many predict it.
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

// Kept is what is stored for a server between two visits.
type Kept struct {
	Trail []Step `json:"trail,omitempty"`
	// Pending is a move that was not answered when the player left.
	Pending *Step `json:"pending,omitempty"`
}
