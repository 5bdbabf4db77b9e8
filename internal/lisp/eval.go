package lisp

import (
	"slices"
	"strings"
)

// Limits bound the evaluation of a program.
type Limits struct {
	Steps  int // names looked up, lists called and nodes rewritten by macros
	Depth  int // nesting of evaluations
	Memory int // estimated bytes allocated by the program, including freed ones
}

// DefaultLimits are far above the needs of a configuration; reaching one takes less than a
// second.
var DefaultLimits = Limits{Steps: 500_000, Depth: 3_000, Memory: 32 << 20}

// Estimated sizes in bytes, for Limits.Memory.
const (
	valueSize = 96
	envSize   = 256
)

// Form is a function of the language or of the host package. It gets its arguments unevaluated.
type Form func(c *Call) (Value, error)

// Call is one use of a Form.
type Call struct {
	*Interp
	Name string
	Pos  Pos // of the list
	Args []Value
	Env  *Env
}

// Eval evaluates argument i.
func (c *Call) Eval(i int) (Value, error) { return c.Evaluate(c.Args[i], c.Env) }

// Interp evaluates one program.
type Interp struct {
	// Global is the scope of the program's top level. Its parent holds the
	// forms of the language and of the host.
	Global *Env
	// Errors and Warnings are the findings so far, in the order found.
	Errors, Warnings []*Error

	getenv   func(string) string
	forms    []string          // names of the forms of language and host
	misspelt map[string]string // unknown functions that were called, with the form they resemble, or ""
	limits   Limits
	steps    int
	depth    int
	memory   int
	stopped  bool // a bound was reached; evaluation has ended
}

// New returns an evaluator with the forms of the language and the given forms. getenv
// implements the form getenv.
func New(limits Limits, getenv func(string) string, forms map[string]Form) *Interp {
	root := NewEnv(nil)
	for _, table := range []map[string]Form{language(), forms} {
		for name, form := range table {
			root.Define(name, functionAt(Pos{}, &Function{Name: name, form: form}), Pos{}, Pos{})
		}
	}
	root.Define("true", intAt(Pos{}, 1), Pos{}, Pos{})
	root.Define("false", intAt(Pos{}, 0), Pos{}, Pos{})
	// Map order is random; hints must be deterministic.
	slices.SortFunc(root.order, func(a, b *Binding) int { return strings.Compare(a.Name, b.Name) })
	return &Interp{Global: NewEnv(root), getenv: getenv, limits: limits, forms: functions(root),
		misspelt: map[string]string{}}
}

// Predefine gives a name a value that programs can read and redefine, like the names of the
// language.
func (in *Interp) Predefine(name string, v Value) { in.Global.parent.Define(name, v, Pos{}, Pos{}) }

// Exec evaluates forms in order and returns the last value. A form that fails is recorded, the
// name that it defines is marked so that its uses do not fail again, and evaluation continues
// with the next form.
func (in *Interp) Exec(forms []Value, env *Env) Value {
	var last Value
	for _, form := range forms {
		if in.stopped || in.Full() {
			break
		}
		v, err := in.Evaluate(form, env)
		if err != nil {
			in.Fail(err)
			poison(form, env)
			continue
		}
		last = v
	}
	return last
}

// poison marks the name of a failed definition.
func poison(form Value, env *Env) {
	if form.Kind != List || len(form.Items) < 2 {
		return
	}
	head, name := form.Items[0], form.Items[1]
	if head.Kind == Symbol && slices.Contains([]string{"def", "defn", "defmacro"}, head.Text) && name.Kind == Symbol {
		env.Define(name.Text, Value{Kind: invalid}, name.Pos, name.Pos)
		env.names[name.Text].Used = true
	}
}

// Step counts n steps, including the host package's own work on a program, and fails above
// Limits.Steps.
func (in *Interp) Step(at Pos, n int) error {
	if in.steps += n; in.steps > in.limits.Steps {
		return in.bound(at, "the program takes more than %d steps", in.limits.Steps)
	}
	return nil
}

// alloc counts n bytes, and fails above Limits.Memory.
func (in *Interp) alloc(at Pos, n int) error {
	if in.memory += n; in.memory > in.limits.Memory {
		return in.bound(at, "the program takes more than %d MB of memory", in.limits.Memory>>20)
	}
	return nil
}

func (in *Interp) bound(at Pos, format string, limit int) error {
	return at.Errorf(format, limit).WithHint("is there a recursion without an end?").Fatal()
}

// Evaluate evaluates one value.
func (in *Interp) Evaluate(v Value, env *Env) (Value, error) {
	switch v.Kind {
	case Symbol:
		return in.name(v, env)
	case List:
		if in.depth == in.limits.Depth {
			return Value{}, in.bound(v.Pos, "the program is nested more than %d deep when it runs", in.limits.Depth)
		}
		in.depth++
		defer func() { in.depth-- }()
		return in.call(v, env)
	}
	return v, nil
}

// name evaluates a symbol. An unknown one is nil, as in the original, and
// warned about; keywords (:inherits) stand for themselves.
func (in *Interp) name(v Value, env *Env) (Value, error) {
	if err := in.Step(v.Pos, 1); err != nil {
		return Value{}, err
	}
	b, _ := env.Lookup(v.Text)
	switch {
	case b == nil && v.Text[0] == ':':
		return v, nil
	case b == nil:
		if !in.Quiet(v.Pos) {
			in.Warn(v.Pos.Errorf("`%s` is not defined and stands for nothing", v.shown()).Suggest(v.Text,
				env.visible()))
		}
		return nilAt(v.Pos), nil
	case b.Failed():
		return Value{}, errReported
	}
	b.Used = true
	found := b.Value
	found.Pos = v.Pos
	return found, nil
}

// call evaluates a list.
func (in *Interp) call(list Value, env *Env) (Value, error) {
	if err := in.Step(list.Pos, 1); err != nil {
		return Value{}, err
	}
	head := list.Items[0]
	if head.Kind == Symbol {
		if b, _ := env.Lookup(head.Text); b == nil {
			return in.unknownCall(list, env)
		}
	}
	f, err := in.Evaluate(head, env)
	if err != nil {
		return Value{}, err
	}
	if f.Kind != Func {
		name := "this"
		if head.Kind == Symbol {
			name = "`" + head.Text + "`"
		}
		return Value{}, head.Pos.Errorf("%s is %s, not a function", name, f.Kind)
	}
	args := list.Items[1:]
	switch fn := f.Func; {
	case fn.form != nil:
		v, err := fn.form(&Call{in, fn.Name, list.Pos, args, env})
		v.Pos = list.Pos
		return v, err
	case fn.macro:
		return in.expand(fn, list.Pos, args, env)
	default:
		return in.apply(fn, list.Pos, args, env)
	}
}

// unknownCall returns nil with a warning, as the original does for an unknown function. A name
// that looks like a misspelt form is an error, because a misspelt policy-deny must not be
// ignored.
func (in *Interp) unknownCall(list Value, env *Env) (Value, error) {
	head := list.Items[0]
	near, known := in.misspelt[head.Text]
	if !known {
		near, _ = Nearest(head.Text, in.forms)
		in.misspelt[head.Text] = near
	}
	if near != "" {
		return Value{}, head.Pos.Errorf("there is no function `%s`", head.Text).WithHint("did you mean `%s`?", near)
	}
	if !in.Quiet(head.Pos) {
		in.Warn(head.Pos.Errorf("there is no function `%s`, the form does nothing", head.Text).Suggest(head.Text,
			functions(env)))
	}
	return nilAt(list.Pos), nil
}

// functions returns the names that can be called from env.
func functions(env *Env) []string {
	return slices.DeleteFunc(env.visible(), func(name string) bool {
		b, _ := env.Lookup(name)
		return b.Value.Kind != Func && !b.Failed()
	})
}
