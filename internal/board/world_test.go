package board

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"wamble/internal/prooftest"
)

var update = flag.Bool("update", false, "write testdata/world.json anew")

// worldFile has the figures of several simulations; a real server must have the same
// (TestWorldLives of package server).
const worldFile = "testdata/world.json"

// worldFigures are the measured figures of a simulation in which every game is a draw after
// 77 plies: it is empty at first, Warm minutes pass, then Measured minutes are measured.
type worldFigures struct {
	Size                    string // "short", "usual" or "long": when a real server is measured
	Players, Warm, Measured int
	Games                   spread // that end in an hour
	Waits                   spread // seconds that a board waits for an answer, on average
	SawEnd                  spread // of the visits, those that see the end of a game that the visitor moved in
	Own                     spread // of the boards given, those on which the player's own move was the last
}

// spread is the mean of a figure over many worlds, and its standard deviation.
type spread struct{ Mean, SD float64 }

const worldPlies = 77

// measure runs a simulation.
func (w *worldFigures) measure(t *testing.T, seed uint64) [4]float64 {
	s := newSim(t, w.Players, worldPlies, seed)
	s.run(time.Duration(w.Warm) * time.Minute)
	s.figures = simFigures{}
	s.run(time.Duration(w.Measured) * time.Minute)
	f, waited := &s.figures, 0.0
	for _, gap := range f.gaps {
		waited += gap
	}
	return [4]float64{
		60 * float64(f.games) / float64(w.Measured), waited / float64(len(f.gaps)),
		float64(f.movedEnd) / float64(f.visits), float64(f.own) / float64(f.given),
	}
}

// spreads runs many simulations.
func (w *worldFigures) spreads(t *testing.T, seed uint64, worlds int) (of [4]spread) {
	var sum, squares [4]float64
	for i := range worlds {
		for j, v := range w.measure(t, seed+uint64(i)) {
			sum[j] += v
			squares[j] += v * v
		}
	}
	n := float64(worlds)
	for j := range of {
		of[j].Mean = sum[j] / n
		of[j].SD = math.Sqrt(max(0, squares[j]/n-of[j].Mean*of[j].Mean))
	}
	return of
}

// TestWorldFigures: testdata/world.json has the figures that the simulation measures.
func TestWorldFigures(t *testing.T) {
	text, err := os.ReadFile(worldFile)
	if err != nil {
		t.Fatal(err)
	}
	var worlds []worldFigures
	if err := json.Unmarshal(text, &worlds); err != nil {
		t.Fatal(err)
	}
	if *update {
		for i := range worlds {
			w := &worlds[i]
			of := w.spreads(t, 1, max(20, 4000/(w.Players*(w.Warm+w.Measured)/30)))
			w.Games, w.Waits, w.SawEnd, w.Own = of[0], of[1], of[2], of[3]
		}
		if text, err = json.MarshalIndent(worlds, "", "\t"); err == nil {
			err = os.WriteFile(worldFile, append(text, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, w := range worlds {
		if w.Size == "long" && !prooftest.Soaking() {
			continue
		}
		t.Run(fmt.Sprintf("players=%d,minutes=%d", w.Players, w.Measured), func(t *testing.T) {
			t.Parallel()
			const worlds = 10
			got := w.spreads(t, prooftest.Seed(t), worlds)
			for i, want := range []spread{w.Games, w.Waits, w.SawEnd, w.Own} {
				what := []string{"games an hour", "seconds of waiting", "of the visits see an end",
					"of the boards are one's own"}[i]
				if off := math.Abs(got[i].Mean - want.Mean); off > 0.05*want.Mean+5*want.SD/math.Sqrt(worlds)+0.001 {
					t.Errorf("%.3f %s, the file says %.3f ± %.3f; go test -run TestWorldFigures -update writes it anew",
						got[i].Mean, what, want.Mean, want.SD)
				}
			}
		})
	}
}
