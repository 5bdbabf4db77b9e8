package server

import (
	"net/netip"
	"reflect"
	"testing"

	"wamble/internal/config"
	"wamble/internal/transport"
)

// TestPortOptions: every option of the network reaches the port.
func TestPortOptions(t *testing.T) {
	t.Parallel()
	c, err := config.Load("test.conf", `
		(def listen-address "127.0.0.1") (def port 9000) (def http-port 9001) (def buffer-size 65536)
		(def http-max-connections 11) (def http-max-connections-per-ip 7)
		(def websocket-path "/play") (def websocket-origins "https://a.example https://b.example")`, config.Params{})
	if err != nil {
		t.Fatal(err)
	}
	want := transport.Options{
		Address: netip.MustParseAddrPort("127.0.0.1:9000"), TCPPort: 9001,
		UDP:  transport.UDPOptions{Buffer: 65536},
		HTTP: transport.HTTPOptions{Max: 11, MaxHost: 7},
		WebSocket: transport.GatewayOptions{
			Path: "/play", Origins: []string{"https://a.example", "https://b.example"},
		},
	}
	if got := portOptions(c.Default); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestStandbyAddress: a standby listens where the server would, on every address if none is
// set.
func TestStandbyAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`(def port 9000)`: ":9000",
		`(def port 9000) (def http-port 9001) (def listen-address "127.0.0.1")`: "127.0.0.1:9001",
		`(def port 9000) (def listen-address "::1")`:                            "[::1]:9000",
	} {
		if _, tcp := socketAddresses(loadConf(t, text).Default); tcp.String() != want {
			t.Errorf("%s: got %s, want %s", text, tcp, want)
		}
	}
}
