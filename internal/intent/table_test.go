package intent

import (
	"encoding/binary"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// TestTable walks the table: no cell of a row is empty, every row makes an
// intent of its own kind, and no kind or name stands twice.
func TestTable(t *testing.T) {
	kinds, names := map[Kind]bool{}, map[string]bool{}
	for i, row := range table {
		cells := reflect.ValueOf(row)
		for c := range cells.NumField() {
			if cells.Field(c).IsZero() {
				t.Errorf("row %d, %v: %s is empty", i, row.Kind, cells.Type().Field(c).Name)
			}
		}
		if in := row.Kind.New(); in == nil || in.Kind() != row.Kind {
			t.Errorf("%v: New makes %T", row.Kind, in)
		}
		if kinds[row.Kind] || names[row.Name] {
			t.Errorf("%v stands twice", row.Kind)
		}
		kinds[row.Kind], names[row.Name] = true, true
		if got, want := row.Kind.Place(), i+1; got != want || row.Kind.Row() != &table[i] || Kinds()[i] != row.Kind {
			t.Errorf("%v stands at %d, want %d", row.Kind, got, want)
		}
	}
	if k := Kind(12); k.New() != nil || k.Row() != nil || k.Place() != 0 {
		t.Error("kind 12 has no role and makes nothing")
	}
	if got, want := Kind(200).String(), "Kind(200)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTableIsWhole reads the source of the package: every type with a method Kind
// has a row.
func TestTableIsWhole(t *testing.T) {
	rows := map[string]bool{}
	for _, row := range table {
		rows[reflect.TypeOf(row.New()).Elem().Name()] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "Kind" {
				continue
			}
			if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
				found++
				if kind := star.X.(*ast.Ident).Name; !rows[kind] {
					t.Errorf("%s has no row in the table", kind)
				}
			}
		}
	}
	if found != len(table) {
		t.Errorf("got %d types, want %d: one per row", found, len(table))
	}
}

// TestTableFirstField: the row that an intent overwrites, and the identity that it changes,
// are read from the number that its bytes begin with.
func TestTableFirstField(t *testing.T) {
	for _, row := range table {
		if row.Overwrites == KeepsAll && row.Barrier != ChangesIdentity {
			continue
		}
		in := row.New()
		name, want := "", uint64(0)
		switch f := reflect.ValueOf(in).Elem().Field(0); f.Kind() {
		case reflect.Uint64: // a board
			f.SetUint(77)
			want = 77
		case reflect.Int64: // a session, in zigzag
			f.SetInt(77)
			want = 154
		default:
			name = f.Type().String()
		}
		if got, _ := binary.Uvarint(AppendFields(nil, in, 0)); got != want || want == 0 {
			t.Errorf("%v begins with %d (%s), want the number of a board or session", row.Kind, got, name)
		}
	}
}

// TestTableSize: the size of every intent is counted, and texts in full.
func TestTableSize(t *testing.T) {
	for _, row := range table {
		if row.Size(0) <= 0 || row.Size(100) < row.Size(0) {
			t.Errorf("%v: got %d bytes for no fields, %d for 100 bytes of fields", row.Kind, row.Size(0), row.Size(100))
		}
	}
	if got, want := KindRecordTermsAcceptance.Row().Size(5000), 5160; got != want {
		t.Errorf("terms of 5000 bytes: got %d, want %d", got, want)
	}
}

// TestCheckWantsFields: no kind accepts an intent without fields, or only with the time.
func TestCheckWantsFields(t *testing.T) {
	for _, k := range Kinds() {
		timed := k.New()
		if f := reflect.ValueOf(timed).Elem().FieldByName("At"); f.IsValid() {
			f.Set(reflect.ValueOf(time.Unix(1e9, 0)))
		}
		for _, in := range []Intent{k.New(), timed} {
			var bad *Violation
			if err := Check(in); !errors.As(err, &bad) || bad.Kind != k || bad.Reason == "" {
				t.Errorf("%v: got %v for %+v, want a violation", k, err, in)
			}
		}
	}
}

// TestCheckIsFree keeps the check of a good move off the heap.
func TestCheckIsFree(t *testing.T) {
	in := &RecordMove{Board: 1, Session: 1, UCI: "e2e4", Ply: 1, At: time.Unix(1e9, 0)}
	if got := testing.AllocsPerRun(100, func() {
		if err := Check(in); err != nil {
			t.Fatal(err)
		}
	}); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

// TestCheckTexts distinguishes the reasons, by the texts that dead letters carry.
func TestCheckTexts(t *testing.T) {
	at := time.Unix(1e9, 0)
	for _, c := range []struct {
		in   Intent
		want string
	}{
		{&CreateBoard{Board: 1, At: at}, "CREATE_BOARD: the fen has 0 characters, 1 to 90 are kept"},
		{&CreateBoard{Board: 1, FEN: "a\xff", At: at}, "CREATE_BOARD: fen is not UTF-8"},
		{&CreateBoard{Board: 1, FEN: "a\x00", At: at}, "CREATE_BOARD: fen contains NUL"},
		{&CreateBoard{Board: 1, FEN: "x", Variant: 960, At: at}, "CREATE_BOARD: there is no variant 960"},
		{&CreateBoard{FEN: "x", Variant: 960}, "CREATE_BOARD: there is no board 0"},
		{&UnlinkSession{Session: 1}, "UNLINK_SESSION_IDENTITY: the time is missing, or not between 1970 and 9999"},
		{&RecordPayout{Board: 1, Session: 1, Points: 1e6, At: at}, "RECORD_PAYOUT: points 1e+06 do not fit into six digits before the point"},
	} {
		if err := Check(c.in); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
