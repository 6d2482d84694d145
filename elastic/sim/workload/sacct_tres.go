package workload

import (
	"strconv"
	"strings"
)

// resources returns the GPUs the run had, or asked for, and the nodes they were
// on. 0 GPUs means none, or not known.
func (p *sacctLine) resources() (gpus, nodes int) {
	c := p.d.columns
	column := c.alloc
	if p.at(column) == "" {
		column = c.req
	}
	t, ok := parseTRES(p.at(column))
	if !ok {
		p.bad(column, "resources such as cpu=8,mem=64G,node=1,gres/gpu=2")
	}
	p.kind = p.d.pools.text(cutName(t.kind))
	nodes = t.nodes
	if text := p.at(c.nodes); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 1_000_000 {
			p.bad(c.nodes, "a number of nodes")
		}
		nodes = n
	}
	return t.gpus, max(1, min(nodes, t.gpus))
}

// tres is what a run had, as far as it matters here.
type tres struct {
	gpus, nodes int
	kind        string // the one GPU type named; "" = none, or several
}

// parseTRES reads a list such as "billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,node=1".
// gres/gpu counts the GPUs of all types; without it the types are added up.
func parseTRES(text string) (t tres, ok bool) {
	typed, kinds, total := 0, 0, -1
	for item := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(item, "=")
		kind, isTyped := strings.CutPrefix(key, "gres/gpu:")
		if key != "node" && key != "gres/gpu" && !isTyped {
			continue
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > 1_000_000 {
			return tres{}, false
		}
		switch {
		case key == "node":
			t.nodes = n
		case isTyped:
			typed, kinds, t.kind = min(typed+n, 1_000_000), kinds+1, kind
		default:
			total = n
		}
	}
	if kinds > 1 {
		t.kind = ""
	}
	t.gpus = total
	if total < 0 {
		t.gpus = typed
	}
	return t, true
}
