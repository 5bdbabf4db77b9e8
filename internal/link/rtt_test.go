package link

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	const ms = time.Millisecond
	cases := []struct {
		name    string
		config  Config
		samples []time.Duration
		sends   int
		want    time.Duration
	}{
		{"no sample", Config{}, nil, 1, 250 * ms},
		{"no sample, second", Config{}, nil, 2, 375 * ms},
		{"no sample, third", Config{}, nil, 3, 562500 * time.Microsecond},
		{"LAN: the floor", Config{}, []time.Duration{time.Microsecond}, 1, 100 * ms},
		{"one sample", Config{}, []time.Duration{80 * ms}, 1, 240 * ms},      // 80 + 4·40
		{"steady", Config{}, []time.Duration{80 * ms, 80 * ms}, 1, 200 * ms}, // 80 + 4·30
		{"the cap", Config{}, []time.Duration{10 * time.Second}, 1, 8 * time.Second},
		{"a higher floor, no sample", Config{MinWait: 400 * ms}, nil, 1, 400 * ms},
		{"a higher floor, LAN", Config{MinWait: 400 * ms}, []time.Duration{time.Microsecond}, 1, 400 * ms},
		{"a lower floor, LAN", Config{MinWait: 20 * ms}, []time.Duration{time.Microsecond}, 1, 20 * ms},
		{"the cap is below the floor", Config{MaxWait: 50 * ms}, nil, 1, 50 * ms},
	}
	for _, c := range cases {
		var r rtt
		for _, s := range c.samples {
			r.sample(s)
		}
		if got := c.config.withDefaults().backoff().after(&r, c.sends); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// Karn's rule: a packet that was sent twice gives no sample.
func TestRepeatedPacketGivesNoSample(t *testing.T) {
	r := newRig(t, Config{})
	r.send(alice, hello(tokenB, 1))
	r.send(alice, move(tokenB, 2)) // proven
	path := r.s.table.paths[alice]
	r.wait(300 * time.Millisecond) // both were repeated
	r.send(alice, ack(tokenB, 1))
	if path.rtt.smooth != 0 {
		t.Errorf("round trip of a repeated packet taken as %v", path.rtt.smooth)
	}
	r.send(alice, ack(tokenB, 1))
	r.send(alice, move(tokenB, 3))
	r.wait(30 * time.Millisecond)
	r.send(alice, ack(tokenB, 2))
	if path.rtt.smooth != 30*time.Millisecond {
		t.Errorf("round trip is %v, want 30ms", path.rtt.smooth)
	}
}
