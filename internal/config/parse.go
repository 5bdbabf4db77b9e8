package config

import (
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"wamble/internal/lisp"
)

// checks has the conditions that the tag check can name. ok is called only with strings that
// are not empty.
var checks = map[string]struct {
	expects string
	ok      func(string) bool
}{
	"address":  {"an IP address such as \"127.0.0.1\" or \"::1\"", isAddress},
	"domains":  {"names such as \"chess.example.org\", in lower case and separated by spaces", isDomains},
	"hostport": {"an IP address and a port such as \"127.0.0.1:8887\" or \"[::1]:8887\"", isHostPort},
	"endpoint": {"a host and a port such as \"10.0.0.1:8886\" or \"a.example.org:8886\"", isEndpoint},
	"origins":  {"origins such as \"https://example.org\", separated by spaces, or \"*\"", isOrigins},
	"https":    {"an address such as \"https://acme.example.org/directory\"", isHTTPS},
	"http":     {"an address such as \"http://127.0.0.1:4318/v1/traces\"", isHTTP},
	"networks": {"addresses or networks such as \"127.0.0.1 10.0.0.0/8\", separated by spaces", isNetworks},
	"path":     {"a path such as \"/ws\"", isPath},
	"name": {"a name without spaces, commas, equals signs and semicolons",
		func(s string) bool { return nameFault(s) == "" }},
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

func isHostPort(s string) bool {
	_, err := netip.ParseAddrPort(s)
	return err == nil
}

// isEndpoint reports whether s is HOST:PORT. An unspecified address is not, because other
// nodes could not reach it.
func isEndpoint(s string) bool {
	host, port, err := net.SplitHostPort(s)
	_, notNumber := strconv.ParseUint(port, 10, 16)
	ip, notIP := netip.ParseAddr(host)
	return err == nil && notNumber == nil && host != "" && !strings.ContainsAny(host, " \t") &&
		(notIP != nil || !ip.IsUnspecified())
}

func isOrigins(s string) bool {
	for origin := range strings.FieldsSeq(s) {
		u, err := url.Parse(origin)
		if origin != "*" && (err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin) {
			return false
		}
	}
	return true
}

func isNetworks(s string) bool {
	_, ok := networks(s)
	return ok
}

// networks parses addresses and networks. A network of all addresses is not ok.
func networks(s string) (list []netip.Prefix, ok bool) {
	for word := range strings.FieldsSeq(s) {
		p, err := netip.ParsePrefix(word)
		if err != nil {
			ip, err := netip.ParseAddr(word)
			if err != nil || ip.Zone() != "" {
				return nil, false
			}
			p = netip.PrefixFrom(ip, ip.BitLen())
		}
		if p.Bits() == 0 || p.Addr().Is4In6() {
			return nil, false
		}
		list = append(list, p.Masked())
	}
	return list, true
}

// domainName matches the names that certificate authorities accept: labels of letters, digits
// and hyphens.
var domainName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$`)

func isDomains(s string) bool {
	for name := range strings.FieldsSeq(s) {
		if len(name) > 253 || !domainName.MatchString(name) {
			return false
		}
	}
	return true
}

func isHTTPS(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && u.Host != ""
}

func isHTTP(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

func isPath(s string) bool {
	return s[0] == '/' && !strings.ContainsFunc(s,
		func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("?#%", r) })
}

// parse converts a value of the language to the field's type. at is the position for an error.
func (o *Option) parse(v lisp.Value, at lisp.Pos) (any, *lisp.Error) {
	switch {
	case len(o.choices) > 0:
		return o.parseChoice(v, at)
	case o.kind.Kind() == reflect.String:
		return o.parseString(v, at)
	}
	n, ok := v.Number()
	if v.Kind == lisp.Float && o.kind.Kind() != reflect.Float64 {
		_, ok = lisp.Integral(v.Float)
	}
	if !ok {
		e := o.misfit(v, at)
		if v.Kind == lisp.String {
			if _, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
				e.WithHint("write the number without quotes, or (int …) around an expression")
			}
		}
		return nil, e
	}
	if o.kind.Kind() == reflect.Bool && n != 0 && n != 1 || o.bounded && (n < o.low || n > o.high) {
		return nil, o.misfit(v, at)
	}
	return o.plain(n), nil
}

func (o *Option) parseChoice(v lisp.Value, at lisp.Pos) (any, *lisp.Error) {
	var words []string
	for _, c := range o.choices {
		if v.Kind == lisp.String && v.Text == c.word || v.Kind == lisp.Int && c.number >= 0 &&
			v.Int == int64(c.number) {
			return c.word, nil
		}
		words = append(words, c.word)
	}
	e := o.misfit(v, at)
	if v.Kind == lisp.String {
		e.Suggest(v.Text, words)
	}
	return nil, e
}

func (o *Option) parseString(v lisp.Value, at lisp.Pos) (any, *lisp.Error) {
	size := float64(len(v.Text))
	if v.Kind != lisp.String || o.bounded && (size < o.low || size > o.high) {
		return nil, o.misfit(v, at)
	}
	if o.check != "" && v.Text != "" && !checks[o.check].ok(v.Text) {
		return nil, o.misfit(v, at)
	}
	return o.plain(v.Text), nil
}

// misfit returns an error that says what was expected and what was found. It does not repeat
// a secret.
func (o *Option) misfit(v lisp.Value, at lisp.Pos) *lisp.Error {
	found := v.String()
	switch {
	case v.Kind == lisp.Nil:
		found = "nothing"
	case o.Secret:
		found = v.Kind.String()
	case v.Kind == lisp.List || v.Kind == lisp.Func:
		found = v.Kind.String()
	case v.Kind == lisp.String && len(v.Text) > 60:
		found = "a string of " + strconv.Itoa(len(v.Text)) + " bytes"
	}
	return at.Errorf("`%s` must be %s, not %s", o.Name, o.Expects(), found)
}

// nameFault returns what is wrong with the name of a profile or a group, or "". Names are
// used in lists (a=1,b=2;…) and in file names.
func nameFault(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > 120: // the stores keep 128, with the number of a shard
		return "has " + strconv.Itoa(len(name)) + " bytes; at most 120 are allowed"
	case name == "." || name == "..":
		return "is no name"
	}
	for _, r := range name {
		switch {
		case r <= ' ' || r == 0x7F || r == 0xA0 || 0x80 <= r && r < 0xA0 || r == 0x2028 || r == 0x2029:
			return "contains a space or a control character"
		case strings.ContainsRune(`,=;/\`, r):
			return "contains " + strconv.QuoteRune(r)
		}
	}
	return ""
}
