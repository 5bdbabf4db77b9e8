package config

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wamble"
)

// manualText is the prose of the manual, with the places of the tables.
//
//go:embed manual.tmpl
var manualText string

// manual is the text of docs/configuration.md.
func manual() string {
	return strings.NewReplacer(
		"{{options}}\n", optionTables(),
		"{{retired}}\n", retiredTable(),
		"{{actions}}\n", actionTable(),
	).Replace(manualText)
}

func optionTables() string {
	var b strings.Builder
	for _, family := range Families() {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n", family, docs()[family])
		for _, o := range Of(family) {
			value := o.Source(o.Default)
			if o.unset(o.Default) {
				value = "unset"
			}
			if o.Unit != "" && value != "unset" {
				value += " " + o.Unit
			}
			fmt.Fprintf(&b, "- `%s` (%s): %s\n", o.Name, value+takes(o), meaning(o))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// takes is Expects in few words, behind the default. Of a text only the form is said.
func takes(o *Option) string {
	text := strings.NewReplacer(
		"a whole number from ", "", "a number from ", "", " to ", "–", "0 (no) or 1 (yes)", "0, 1",
		", or \"", ", \"", " or \"", ", \"", " such as", ":",
	).Replace(o.Expects())
	if strings.HasPrefix(text, "a string of ") {
		return ""
	}
	return "; " + text
}

// meaning is Doc without the name, which stands before it, and with what a reload does if
// that is more than to take the option up.
func meaning(o *Option) string {
	text := strings.TrimPrefix(o.Doc(), "`"+o.Name+"` ")
	for _, verb := range []string{"is ", "are "} {
		text = strings.TrimPrefix(text, verb)
	}
	text = strings.ToLower(text[:1]) + text[1:]
	if o.Reload != Live {
		text += fmt.Sprintf(" *%v*", o.Reload)
	}
	return text
}

func retiredTable() string {
	names := map[string][]string{} // by reason
	for _, name := range slices.Sorted(maps.Keys(retired)) {
		names[retired[name]] = append(names[retired[name]], "`"+name+"`")
	}
	for _, name := range retiredForms {
		const reason = "there are no treatment groups"
		names[reason] = append(names[reason], "`("+name+"…)`")
	}
	var b strings.Builder
	b.WriteString("| names | why they have no effect |\n|---|---|\n")
	for _, reason := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(names[reason], ", "), reason)
	}
	return b.String()
}

func actionTable() string {
	var b strings.Builder
	b.WriteString("| action | about | context |\n|---|---|---|\n")
	for _, a := range wamble.PolicyActions {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", a.Name, "`"+strings.Join(a.Resources, "`, `")+"`", a.Context)
	}
	return b.String()
}
