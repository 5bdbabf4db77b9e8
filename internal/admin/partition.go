package admin

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"

	"wamble/runner"
)

// Partition is a partition of a shared journal (see API.Partitions).
type Partition struct {
	Runner *runner.Runner // nil if this node does not hold it
	Node   string         // its holder; "" if it has none
}

// partitionNumber is the argument that names a partition of the journal. It may be left out if
// this node has only one.
var partitionNumber = Arg{Name: "part", Kind: Number}

type partitionChoice struct {
	Part *int `json:"part,omitempty"`
}

// journal returns the journal, or the partition of it that the arguments of a command name.
func (h *Host) journal(args json.RawMessage) (*runner.Runner, error) {
	var of partitionChoice
	if len(args) > 0 {
		if err := json.Unmarshal(args, &of); err != nil {
			return nil, fmt.Errorf("which part of the journal: %w", err)
		}
	}
	if h.Partitions == nil {
		if of.Part != nil {
			return nil, fmt.Errorf("the journal of this server is in one part: leave out which one")
		}
		return h.Runner, nil
	}
	parts := h.Partitions()
	var here []string
	var only *runner.Runner
	for i, p := range parts {
		if p.Runner != nil {
			here, only = append(here, strconv.Itoa(i)), p.Runner
		}
	}
	switch {
	case of.Part == nil && len(here) == 1:
		return only, nil
	case of.Part == nil && len(here) == 0:
		return nil, fmt.Errorf("no part of the journal is on this machine: 'wamble status' says where they are")
	case of.Part == nil:
		return nil, fmt.Errorf("this machine has the parts %s of the journal: name one, as in --part %s",
			strings.Join(here, ", "), here[0])
	case *of.Part < 0 || *of.Part >= len(parts):
		return nil, fmt.Errorf("there is no part %d: the journal has %d, from 0 on", *of.Part, len(parts))
	}
	p := parts[*of.Part]
	switch {
	case p.Runner == nil && p.Node == "":
		return nil, fmt.Errorf("part %d of the journal is on no machine now: ask again in a moment", *of.Part)
	case p.Runner == nil:
		return nil, fmt.Errorf("part %d of the journal is on machine %s: ask there", *of.Part, p.Node)
	}
	return p.Runner, nil
}

// localPartitions returns the partitions on this node by index; a journal that is not shared has
// index -1.
func (h *Host) localPartitions() map[int]*runner.Runner {
	if h.Partitions == nil {
		return map[int]*runner.Runner{-1: h.Runner}
	}
	here := map[int]*runner.Runner{}
	for i, p := range h.Partitions() {
		if p.Runner != nil {
			here[i] = p.Runner
		}
	}
	return here
}

// partitionPointer returns a partition's index for JSON; nil for -1.
func partitionPointer(part int) *int {
	if part < 0 {
		return nil
	}
	return &part
}

// journalAdminPages returns the handler of the journal's pages. A shared journal has one for each
// partition, and a page that lists them.
func (h *Host) journalAdminPages() http.Handler {
	if h.Partitions == nil {
		return http.StripPrefix(journalAdminPath, h.journalAdminOf(h.Runner, -1))
	}
	mux := http.NewServeMux()
	mux.HandleFunc(journalAdminPath+"/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		fmt.Fprint(w, "<!doctype html><html lang=en><title>Journal</title><h1>Journal</h1>"+
			"<p><a href=\"/console/\">Console</a></p><ul>\n")
		for i, p := range h.Partitions() {
			switch {
			case p.Runner != nil:
				fmt.Fprintf(w, "<li><a href=\"%d/\">Part %d</a>: %d dead letters\n", i, i, p.Runner.Stats().DeadLetters)
			case p.Node != "":
				fmt.Fprintf(w, "<li>Part %d is on machine %s: look there\n", i, html.EscapeString(p.Node))
			default:
				fmt.Fprintf(w, "<li>Part %d is on no machine now\n", i)
			}
		}
		fmt.Fprint(w, "</ul></html>\n")
	})
	mux.HandleFunc(journalAdminPath+"/{part}/", func(w http.ResponseWriter, r *http.Request) {
		part, err := strconv.Atoi(r.PathValue("part"))
		if err == nil {
			var of *runner.Runner
			if of, err = h.journal(json.RawMessage(fmt.Sprintf(`{"part":%d}`, part))); err == nil {
				prefix := fmt.Sprintf("%s/%d", journalAdminPath, part)
				http.StripPrefix(prefix, h.journalAdminOf(of, part)).ServeHTTP(w, r)
				return
			}
		}
		denyJSON(w, http.StatusNotFound, err.Error())
	})
	return mux
}
