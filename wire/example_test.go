package wire_test

import (
	"fmt"

	"wamble"
	"wamble/wire"
)

func ExampleAppend() {
	uci, err := wire.MakeUCI("e2e4")
	if err != nil {
		fmt.Println(err)
		return
	}
	h := wire.Header{Token: wamble.Token{15: 1}, Board: 42, Seq: 2}
	packet, err := wire.Append(nil, h, wire.PlayerMove{UCI: uci})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%x\n%x\n", packet[:wire.HeaderSize], packet[wire.HeaderSize:])
	// Output:
	// 0300010000000000000000000000000000000001000000000000002a000000020005
	// 0465326534
}

func ExampleDecode() {
	packet, err := wire.Append(nil, wire.Header{Seq: 1}, wire.ProfilesList{Names: wire.Text("blitz,open")})
	if err != nil {
		fmt.Println(err)
		return
	}
	h, m, err := wire.Decode(packet)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v %s\n", h.Ctrl, m.(*wire.ProfilesList).Names)
	// Output: PROFILES_LIST blitz,open
}

func ExamplePacket_Decode() {
	datagram, err := wire.Append(nil, wire.Header{Board: 43, Seq: 1},
		wire.BoardUpdate{FEN: wire.Text("8/8/8/8/8/8/8/K1k5 w")}, wire.Int(wire.KeyBoardVersion, 17))
	if err != nil {
		fmt.Println(err)
		return
	}
	var p wire.Packet // kept by the loop that reads datagrams
	if err := p.Decode(datagram); err != nil {
		fmt.Println(err)
		return
	}
	switch m := p.Message.(type) {
	case *wire.BoardUpdate:
		version, _ := p.Ext.Int(wire.KeyBoardVersion)
		fmt.Printf("board %d, version %d: %s\n", p.Board, version, m.FEN)
	default:
		fmt.Println("not for us:", p.Ctrl)
	}
	// Output: board 43, version 17: 8/8/8/8/8/8/8/K1k5 w
}

func ExampleNewTransfer() {
	terms := make(wire.Text, 3000)
	payload, err := wire.AppendPayload(nil, wire.ProfileTOSData{Terms: terms}, wire.String(wire.KeyProfileName, "open"))
	if err != nil {
		fmt.Println(err)
		return
	}
	transfer, err := wire.NewTransfer(1, payload)
	if err != nil {
		fmt.Println(err)
		return
	}
	var r wire.Reassembler
	for i := range transfer.Chunks() {
		f := transfer.Fragment(i)
		packet, err := wire.Append(nil, wire.Header{Ctrl: wire.CtrlProfileTOSData, Seq: uint32(1 + i)}, f)
		if err != nil {
			fmt.Println(err)
			return
		}
		whole, err := r.Add(wire.CtrlProfileTOSData, &f)
		fmt.Println(len(packet), "bytes; complete:", whole != nil, err)
	}
	// Output:
	// 1234 bytes; complete: false <nil>
	// 1234 bytes; complete: false <nil>
	// 804 bytes; complete: true <nil>
}
