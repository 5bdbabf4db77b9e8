package config

import (
	"cmp"
	"reflect"
	"slices"

	"wamble"
	"wamble/internal/lisp"
)

// loader is one load in progress.
type loader struct {
	*lisp.Interp
	source  *lisp.Source
	decls   []*declaration
	read    map[string]bool // the names that some expression reads, evaluated or not
	rules   []wamble.PolicyRule
	ruleAt  []lisp.Pos // positions of the rules' resources, for checkScopes
	tags    []wamble.PolicyTag
	profile string // the profile whose body is being evaluated, or ""
	config  *Config
	// original is a name or form of the file that only files of the original have; "" if there is none.
	original string
	// fromEnv has the environment variables whose values definitions take, by the position of the value.
	fromEnv map[lisp.Pos]string
}

// Load loads the text of a configuration file, whose name is used in messages. It returns a
// *LoadError with all errors.
func Load(file, text string, params Params) (*Config, error) {
	if params.Getenv == nil {
		params.Getenv = func(string) string { return "" }
	}
	l := &loader{source: lisp.NewSource(file, text), config: &Config{File: file}}
	l.source.Shown = mask(text)
	l.Interp = lisp.New(lisp.DefaultLimits, params.Getenv, l.forms())
	for _, o := range All() {
		l.Predefine(o.Name, o.datum(o.Default))
	}
	forms := l.Read(l.source)
	l.read, l.fromEnv = map[string]bool{}, map[lisp.Pos]string{}
	l.findNames(forms)
	l.Exec(forms, l.Global)
	l.resolve()
	l.settle(params.Profile)
	l.review()
	l.crossCheck()
	l.checkOriginal()
	l.config.Rules, l.config.Tags = l.rules, l.tags
	if len(l.Errors) > 0 {
		return nil, &LoadError{byPlace(l.Errors), byPlace(l.Warnings)}
	}
	l.config.Warnings = byPlace(l.Warnings)
	l.shareAll()
	return l.config, nil
}

// Defaults returns the configuration without a file.
func Defaults() *Config {
	c, err := Load("", "", Params{})
	if err != nil {
		panic(err) // TestOptions checks that all defaults are valid
	}
	return c
}

func byPlace(list []*lisp.Error) []*lisp.Error {
	slices.SortStableFunc(list, func(a, b *lisp.Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return list
}

func (l *loader) forms() map[string]lisp.Form {
	forms := map[string]lisp.Form{
		"defprofile":   l.defprofile,
		"policy-allow": l.policy(true),
		"policy-deny":  l.policy(false),
		"policy-tag":   l.policyTag,
	}
	for _, name := range retiredForms {
		forms[name] = func(c *lisp.Call) (lisp.Value, error) {
			l.original = cmp.Or(l.original, c.Name)
			l.Warn(c.Pos.Errorf("`%s` has no effect: there are no treatment groups", c.Name))
			return lisp.Value{}, nil
		}
	}
	return forms
}

// settle computes the effective options of the server and of every profile.
func (l *loader) settle(chosen string) {
	c := l.config
	c.origins, _ = l.effective(l.Global, true, &c.Server, nil)
	c.Default = &Profile{Name: DefaultName}
	c.Default.origins, c.Default.faulty = l.effective(l.Global, false, nil, &c.Default.Options)
	for _, d := range l.decls {
		p := &Profile{Name: d.name.Text, pos: d.name.Pos}
		if d.parent != nil {
			p.Base = d.parent.name.Text
		}
		p.origins, p.faulty = l.effective(d.env, false, nil, &p.Options)
		c.Profiles = append(c.Profiles, p)
	}
	if chosen == "" || chosen == DefaultName {
		return
	}
	p := c.Profile(chosen)
	if p == nil {
		e := lisp.Pos{}.Errorf("there is no profile `%s`", chosen)
		e.File = c.File
		l.Fail(e.Suggest(chosen, l.profileNames()))
		return
	}
	d := *p
	d.Name, c.Default = DefaultName, &d
}

func (l *loader) profileNames() []string {
	var names []string
	for _, d := range l.decls {
		names = append(names, d.name.Text)
	}
	return names
}

// effective sets every option of one struct to its value in env, and returns the origins. An
// invalid value is recorded as an error, and the option keeps its default; then faulty is
// true.
func (l *loader) effective(env *lisp.Env, server bool, s *Server, p *Options) (origins []Origin, faulty bool) {
	origins = make([]Origin, len(All()))
	for i, o := range All() {
		if o.Server != server {
			continue
		}
		field := o.in(s, p)
		field.Set(reflect.ValueOf(o.Default))
		b, owner := env.Lookup(o.Name)
		if o.OwnOnly {
			b, owner = env.Own(o.Name), env
		}
		if b == nil || b.NameAt.IsZero() || b.Failed() {
			faulty = faulty || b != nil && b.Failed()
			continue
		}
		v, err := o.parse(b.Value, b.ValueAt)
		if n, number := b.Value.Number(); err != nil && number && n <= 0 {
			if taken, known := belowRange[o.Name]; known {
				v, err = o.plain(taken), nil
				l.Warn(b.ValueAt.Errorf("`%s` is %s here, not %s", o.Name, o.Source(v), b.Value))
			}
		}
		if name := l.fromEnv[b.ValueAt]; err != nil && b.Value.Text == "" && name != "" {
			err.WithHint("the environment variable %s is not set, or empty", name)
		}
		if err != nil {
			l.Fail(err)
			faulty = true
			continue
		}
		field.Set(reflect.ValueOf(v))
		origins[i] = l.origin(b, owner, env)
	}
	return origins, faulty
}

func (l *loader) origin(b *lisp.Binding, owner, env *lisp.Env) Origin {
	switch owner {
	case l.Global:
		return Origin{Kind: FromTopLevel, Pos: b.NameAt}
	case env:
		return Origin{Kind: FromProfile, Pos: b.NameAt}
	}
	base := slices.IndexFunc(l.decls, func(d *declaration) bool { return d.env == owner })
	return Origin{Kind: FromBase, Profile: l.decls[base].name.Text, Pos: b.NameAt}
}

// findNames adds to l.read the names that the program reads. A definition does not read the
// name it defines.
func (l *loader) findNames(list []lisp.Value) {
	if len(list) > 2 && list[0].Kind == lisp.Symbol && list[0].Text == "def" {
		if v := list[2]; len(v.Items) == 2 && v.Items[0].Text == "getenv" {
			l.fromEnv[v.Pos] = v.Items[1].Text
		}
		list = list[2:]
	}
	for _, v := range list {
		if v.Kind == lisp.Symbol {
			l.read[v.Text] = true
		}
		l.findNames(v.Items)
	}
}

// review checks the names that were defined: options in the wrong place, retired names of the
// original server, and names that are neither an option nor used. The last are errors, so
// that a misspelt policy-default does not leave a server open.
func (l *loader) review() {
	known := slices.Concat(Names(), []string{"inherits"})
	for _, b := range l.Global.Bindings() {
		if retired[b.Name] != "" && b.Name != ofOlder && l.original == "" {
			l.original = b.Name
		}
	}
	for _, b := range l.Global.Bindings() {
		l.reviewName(b, known)
		if o := Find(b.Name); b.Name == "inherits" || o != nil && o.OwnOnly {
			l.Fail(b.NameAt.Errorf("`%s` belongs in a profile, not at top level", b.Name))
		}
	}
	for _, d := range l.decls {
		for _, b := range d.env.Bindings() {
			l.reviewName(b, known)
			if o := Find(b.Name); b.Name == "state-dir" { // the original reads it in every profile
				l.Warn(b.NameAt.Errorf("`state-dir` has no effect in a profile: it is an option of the whole server").
					WithHint("define it at top level"))
			} else if o != nil && o.Server {
				l.Fail(b.NameAt.Errorf("`%s` is an option of the whole server, not of a profile", b.Name).
					WithHint("define it at top level"))
			}
			if b.Name == "inherits" {
				l.Fail(b.NameAt.Errorf("`inherits` must be defined directly in the body of the profile"))
			}
		}
	}
}

func (l *loader) reviewName(b *lisp.Binding, known []string) {
	if slices.Contains(known, b.Name) || b.Failed() {
		if b.Value.Kind == lisp.Func {
			l.Fail(b.NameAt.Errorf("`%s` is an option and cannot be a function", b.Name))
		}
		return
	}
	if reason, ok := retired[b.Name]; ok {
		l.Warn(b.NameAt.Errorf("`%s` has no effect: %s", b.Name, reason))
		return
	}
	switch {
	case b.Value.Kind == lisp.Func || l.Full():
	case !b.Used && !l.read[b.Name] && l.original != "" && !slices.ContainsFunc(known, func(o string) bool { return lisp.Distance(o, b.Name) <= 2 }):
		l.Warn(b.NameAt.Errorf("`%s` is not an option, and nothing uses it", b.Name))
	case !b.Used && !l.read[b.Name]:
		l.Fail(b.NameAt.Errorf("`%s` is not an option, and nothing uses it", b.Name).Suggest(b.Name, known))
	case !l.Quiet(b.NameAt):
		near := slices.IndexFunc(known, func(o string) bool { return lisp.Distance(o, b.Name) == 1 })
		if near >= 0 {
			l.Warn(b.NameAt.Errorf("`%s` is not an option", b.Name).WithHint("did you mean `%s`?", known[near]))
		}
	}
}
