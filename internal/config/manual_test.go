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
//go:embed manual.md
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
		b.WriteString("| option | default | takes | meaning | on reload | read by |\n|---|---|---|---|---|---|\n")
		for _, o := range Of(family) {
			value := o.Source(o.Default)
			if o.unset(o.Default) {
				value = "unset"
			}
			if o.Unit != "" && value != "unset" {
				value += " " + o.Unit
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | `%s` |\n", o.Name, value, o.Expects(), strings.ReplaceAll(o.Doc(), "|", `\|`), o.Reload, o.Room)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func retiredTable() string {
	var b strings.Builder
	b.WriteString("| name | why it has no effect |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(retired)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, retired[name])
	}
	for _, name := range retiredForms {
		fmt.Fprintf(&b, "| `(%s …)` | there are no treatment groups |\n", name)
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
