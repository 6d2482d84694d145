package audit

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// What DebugFlags=Gres logs about a job, before the line that says on which nodes it was
// started:
//
//	gres_job_state gres:gpu(7696487) type:(null)(0) job:7 flags:
//	  gres_cnt_node_alloc[0]:4
//	  gres_bit_alloc[0]:0-3 of 4
//
// The numbers in brackets count the job's nodes. A block may come several times; the last one
// counts.
var (
	headForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^gres_job_state gres:gpu\b.* job:(\d+) `) })
	countForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^gres_cnt_node_alloc\[(\d+)\]:(\d+)$`) })
	bitsForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^gres_bit_alloc\[(\d+)\]:([0-9,-]+) of \d+$`) })
)

// heads begins a block.
func (p *controller) heads(text string) {
	if m := headForm().FindStringSubmatch(text + " "); m != nil {
		p.block = job(m[1])
		delete(p.gres, p.block)
	}
}

// listed takes one line of a block.
func (p *controller) listed(text string) {
	if p.block == 0 || !strings.HasPrefix(text, "gres_") {
		return
	}
	if m := countForm().FindStringSubmatch(text); m != nil {
		if share := p.share(number(m[1])); share != nil {
			share.GPUs = number(m[2])
		}
	}
	if m := bitsForm().FindStringSubmatch(text); m != nil {
		bits, err := indexes(m[2])
		if share := p.share(number(m[1])); share != nil && err == nil {
			share.Bits = bits
		}
	}
}

// share returns the job's share of its n-th node, from 0; nil if no job has that many nodes.
func (p *controller) share(n int) *Share {
	if n >= maxHosts {
		return nil
	}
	for len(p.gres[p.block]) <= n {
		p.gres[p.block] = append(p.gres[p.block], Share{})
	}
	return &p.gres[p.block][n]
}

// named gives the shares of a job's nodes their names. Nodes without GPUs are left out.
func named(shares []Share, list string) []Share {
	nodes, err := expand(list)
	if err != nil {
		return nil
	}
	var out []Share
	for i, s := range shares {
		if i < len(nodes) && s.GPUs > 0 {
			out = append(out, Share{Node: nodes[i], GPUs: s.GPUs, Bits: slices.Clone(s.Bits)})
		}
	}
	return out
}
