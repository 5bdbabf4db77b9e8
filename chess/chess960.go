package chess

import "fmt"

// ClassicalNumber is the Scharnagl number of the classical arrangement.
const ClassicalNumber = 518

// Chess960 returns the initial position with the given Scharnagl number, 0 to 959, and an error
// for any other number. Its castling is written as on a Chess960 board even for
// ClassicalNumber; only that differs from Start.
func Chess960(number int) (Position, error) {
	if number < 0 || number > 959 {
		return Position{}, fmt.Errorf("a Chess960 position has a number from 0 to 959, not %d", number)
	}
	var b board
	for file, kind := range backRank(number) {
		code := codeOfKind[kind]
		if kind == Rook {
			code = castler
		}
		b.put(1<<file, code, true)
		b.put(1<<(56+file), code, false)
	}
	b.put(rank2, codeOfKind[Pawn], true)
	b.put(rank7, codeOfKind[Pawn], false)
	return Position{board: b, fullmoves: 1, chess960: true}, nil
}

// knightPairs lists which two of five free files the knights take, by the last digit of the
// number.
var knightPairs = [10][2]int{{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 2}, {1, 3}, {1, 4}, {2, 3}, {2, 4}, {3, 4}}

// backRank decodes a Scharnagl number: the bishops take a light and a dark file, the queen one
// of the remaining six, the knights two of the remaining five, and rook, king and rook the last
// three in this order.
func backRank(number int) (rank [8]Kind) {
	rank[number%4*2+1] = Bishop
	number /= 4
	rank[number%4*2] = Bishop
	number /= 4
	place(&rank, number%6, Queen)
	pair := knightPairs[number/6]
	place(&rank, pair[1], Knight)
	place(&rank, pair[0], Knight)
	for _, kind := range [3]Kind{Rook, King, Rook} {
		place(&rank, 0, kind)
	}
	return rank
}

// place puts kind on the n-th free file, counted from 0.
func place(rank *[8]Kind, n int, kind Kind) {
	for file := range rank {
		if rank[file] != None {
			continue
		}
		if n == 0 {
			rank[file] = kind
			return
		}
		n--
	}
}
