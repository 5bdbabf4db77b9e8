package lisp

// Binding is one name of an Env with its value.
type Binding struct {
	Name    string
	Value   Value
	NameAt  Pos // of the name in its definition; the zero Pos for names of the host
	ValueAt Pos // of the expression that gave the value
	Used    bool
}

// Failed reports whether the definition of the name failed with an error that
// is already recorded.
func (b *Binding) Failed() bool { return b.Value.Kind == invalid }

// Env is a scope: names and the scope around it.
type Env struct {
	parent *Env
	local  bool // scope of a call or a let
	names  map[string]*Binding
	order  []*Binding
}

// NewEnv makes an empty scope inside parent, which may be nil.
func NewEnv(parent *Env) *Env { return &Env{parent: parent, names: map[string]*Binding{}} }

func newLocal(parent *Env) *Env {
	e := NewEnv(parent)
	e.local = true
	return e
}

// Own returns the binding of name in this scope, or nil.
func (e *Env) Own(name string) *Binding { return e.names[name] }

// Lookup returns the nearest binding of name and the scope that has it, or
// nil.
func (e *Env) Lookup(name string) (*Binding, *Env) {
	for ; e != nil; e = e.parent {
		if b := e.names[name]; b != nil {
			return b, e
		}
	}
	return nil, nil
}

// Bindings returns the bindings of this scope in the order of their first definition.
func (e *Env) Bindings() []*Binding { return e.order }

// Define binds name in this scope, over an earlier definition.
func (e *Env) Define(name string, v Value, nameAt, valueAt Pos) {
	b := e.names[name]
	if b == nil {
		b = &Binding{}
		e.names[name] = b
		e.order = append(e.order, b)
	}
	*b = Binding{Name: name, Value: v, NameAt: nameAt, ValueAt: valueAt}
}

// visible lists every name that can be seen from e.
func (e *Env) visible() []string {
	var names []string
	for ; e != nil; e = e.parent {
		for _, b := range e.order {
			names = append(names, b.Name)
		}
	}
	return names
}
