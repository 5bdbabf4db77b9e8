package config

import (
	"slices"
	"strings"

	"wamble/internal/lisp"
)

// declaration is a defprofile form. Its body is evaluated after the whole file was read, so
// that the order in the file does not matter.
type declaration struct {
	name   lisp.Value // a symbol or string
	base   lisp.Value // name or expression of the base; of kind Nil if there is none
	quoted bool       // base is a name, not an expression
	body   []lisp.Value
	parent *declaration
	depth  int // number of bases above it
	env    *lisp.Env
	state  resolution
}

type resolution int

const (
	unresolved resolution = iota
	resolving
	resolved
)

const (
	maxProfiles = 1000 // profiles in a file
	maxBases    = 32   // length of a chain of inheritance
)

// reserved has names that a profile cannot have, because they mean the default profile or all.
var reserved = []string{DefaultName, "__default__", "__wamble_default_runtime__", "*"}

// defprofile is the form defprofile, in all of its spellings:
//
//	(defprofile n ((def …) …))
//	(defprofile n :inherits base ((def …) …))
//	(defprofile n (:inherits base ((def …) …)))
//	(defprofile n ((:inherits base ((def …) …))))
//	(defprofile n ((def inherits "base") (def …) …))
func (l *loader) defprofile(c *lisp.Call) (lisp.Value, error) {
	const usage = "(defprofile name ((def option value) …))"
	switch {
	case l.profile != "":
		return lisp.Value{}, c.Pos.Errorf("a profile cannot be defined inside the profile `%s`", l.profile)
	case c.Env != c.Global:
		return lisp.Value{}, c.Pos.Errorf("a profile cannot be defined inside a function").
			WithHint("a macro can define profiles: (defmacro name (parameters) (defprofile …))")
	case len(c.Args) == 0:
		return lisp.Value{}, c.Pos.Errorf("`defprofile` is written %s", usage)
	}
	name := c.Args[0]
	if name.Kind != lisp.Symbol && name.Kind != lisp.String || strings.HasPrefix(name.Text, ":") {
		return lisp.Value{}, name.Pos.Errorf("a profile needs a name, this is %s", name).
			WithHint("`defprofile` is written %s", usage)
	}
	if fault := nameFault(name.Text); fault != "" {
		return lisp.Value{}, name.Pos.Errorf("the name of this profile %s", fault)
	}
	if slices.Contains(reserved, name.Text) {
		return lisp.Value{}, name.Pos.Errorf("the name `%s` is reserved", name.Text)
	}
	if len(l.decls) == maxProfiles {
		return lisp.Value{}, c.Pos.Errorf("there are more than %d profiles", maxProfiles).Fatal()
	}
	if first := l.declared(name.Text); first != nil {
		return lisp.Value{}, name.Pos.Errorf("there are two profiles `%s`, the first at %s", name.Text, first.name.Pos)
	}
	d := &declaration{name: name}
	if err := d.collect(c, c.Args[1:]); err != nil {
		return lisp.Value{}, err
	}
	l.decls = append(l.decls, d)
	return lisp.Value{}, nil
}

func (l *loader) declared(name string) *declaration {
	i := slices.IndexFunc(l.decls, func(d *declaration) bool { return d.name.Text == name })
	if i < 0 {
		return nil
	}
	return l.decls[i]
}

// collect finds the forms of the body and the base in parts, which may be nested lists.
func (d *declaration) collect(c *lisp.Call, parts []lisp.Value) error {
	for i := 0; i < len(parts); i++ {
		part := parts[i]
		if err := c.Step(part.Pos, 1); err != nil {
			return err
		}
		var err error
		switch {
		case part.Kind == lisp.Nil:
		case isInherits(part):
			if i++; i == len(parts) {
				return part.Pos.Errorf("`%s` needs the name of a profile", part.Text)
			}
			err = d.inherit(parts[i], true)
		case part.Kind != lisp.List:
			return part.Pos.Errorf("the body of a profile is a list of definitions, this is %s", part)
		case part.Items[0].Kind == lisp.List, isInherits(part.Items[0]):
			err = d.collect(c, part.Items)
		case len(part.Items) == 3 && part.Items[0].Text == "def" && part.Items[1].Text == "inherits":
			err = d.inherit(part.Items[2], false)
		default:
			d.body = append(d.body, part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func isInherits(v lisp.Value) bool {
	return v.Kind == lisp.Symbol && (v.Text == ":inherits" || v.Text == "inherits")
}

func (d *declaration) inherit(base lisp.Value, quoted bool) error {
	if d.base.Kind != lisp.Nil {
		return base.Pos.Errorf("the profile `%s` inherits from two profiles", d.name.Text)
	}
	if quoted && base.Kind != lisp.Symbol && base.Kind != lisp.String {
		return base.Pos.Errorf("the base of a profile is its name, this is %s", base)
	}
	d.base, d.quoted = base, quoted
	return nil
}

// resolve evaluates the bodies of all profiles, bases first.
func (l *loader) resolve() {
	for _, d := range l.decls {
		l.evaluate(d)
	}
}

func (l *loader) evaluate(d *declaration) {
	if d.state == resolved {
		return
	}
	d.state = resolving
	outer := l.Global
	if d.parent = l.base(d); d.parent != nil {
		l.evaluate(d.parent)
		outer, d.depth = d.parent.env, d.parent.depth+1
	}
	if d.depth > maxBases {
		l.Fail(d.base.Pos.Errorf("more than %d profiles inherit from each other in a row", maxBases))
		outer, d.depth = l.Global, 0
	}
	d.env = lisp.NewEnv(outer)
	l.profile = d.name.Text
	l.Exec(d.body, d.env)
	l.profile = ""
	d.state = resolved
}

// base returns the profile that d inherits from; nil if there is none. An error is recorded,
// and d is evaluated without a base to find further errors.
func (l *loader) base(d *declaration) *declaration {
	name := d.base
	if !d.quoted && name.Kind != lisp.Nil {
		v, err := l.Evaluate(d.base, l.Global)
		if err == nil && v.Kind != lisp.String {
			err = d.base.Pos.Errorf("`inherits` is the name of a profile in quotes, this is %s", v)
		}
		if err != nil {
			l.Fail(err)
			return nil
		}
		name = v
	}
	if name.Text == "" || l.Full() {
		return nil
	}
	parent := l.declared(name.Text)
	switch {
	case parent == nil:
		l.Fail(d.base.Pos.Errorf("there is no profile `%s` to inherit from", name.Text).Suggest(name.Text,
			l.profileNames()))
	case parent.state == resolving:
		l.Fail(d.base.Pos.Errorf("the profile `%s` inherits from itself: %s", d.name.Text, d.cycle(parent)))
		return nil
	}
	return parent
}

// cycle returns the names of the profiles in a cycle of inheritance: "a → b → a".
func (d *declaration) cycle(start *declaration) string {
	path := start.name.Text
	for at := start; at != d; at = at.parent {
		path += " → " + at.parent.name.Text
	}
	return path + " → " + start.name.Text
}
