package present

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/nodes"
)

// Nodes are all fields that a list of nodes can show. sinfo's letters, where it has one.
var Nodes = List[wire.Node]{Fields: nodeFields, values: nodeValues, first: func(*wire.Node, *wire.Node) int { return 0 }}

// NodeFormat is the format of 'sluice nodes' without --format.
const NodeFormat = "node,partition,type,gpus,used,elastic,free,state,health,jobs"

var nodeFields = []Field[wire.Node]{
	{"node", "N", terminal.Left("NODE"), func(n *wire.Node, _ time.Time) string { return n.Name }},
	{"partition", "P", terminal.Left("PARTITION").Down(9), func(n *wire.Node, _ time.Time) string { return strings.Join(n.Partitions, ",") }},
	{"type", "G", terminal.Left("TYPE").Down(6), func(n *wire.Node, _ time.Time) string { return cmp.Or(n.Type, "-") }},
	{"gpus", "b", terminal.Right("GPUS"), func(n *wire.Node, _ time.Time) string { has, _, _ := byType(n); return has }},
	{"used", "u", terminal.Right("USED"), func(n *wire.Node, _ time.Time) string { _, used, _ := byType(n); return used }},
	{"elastic", "l", terminal.Right("ELASTIC"), func(n *wire.Node, _ time.Time) string { return fmt.Sprint(n.Elastic) }},
	{"free", "f", terminal.Right("FREE"), func(n *wire.Node, _ time.Time) string { _, _, free := byType(n); return free }},
	{"state", "T", terminal.Left("STATE").Down(8), func(n *wire.Node, _ time.Time) string { return StateWord(*n) }},
	{"health", "h", terminal.Left("HEALTH"), func(n *wire.Node, _ time.Time) string { return HealthWord(*n) }},
	{"cpus", "c", terminal.Right("CPUS"), func(n *wire.Node, _ time.Time) string { return fmt.Sprintf("%d/%d", n.CPUsUsed, n.CPUs) }},
	{"memory", "m", terminal.Right("MEMORY"), func(n *wire.Node, _ time.Time) string {
		return fmt.Sprintf("%d/%dG", n.MemUsedMB/1024, n.MemoryMB/1024)
	}},
	{"jobs", "j", terminal.Left("JOBS"), func(n *wire.Node, _ time.Time) string { return Numbers(n.Jobs) }},
}

var nodeValues = map[string]func(n *wire.Node) (float64, bool){
	"gpus":    func(n *wire.Node) (float64, bool) { return float64(n.GPUs), true },
	"used":    func(n *wire.Node) (float64, bool) { return float64(n.Used), true },
	"elastic": func(n *wire.Node) (float64, bool) { return float64(n.Elastic), true },
	"free":    func(n *wire.Node) (float64, bool) { return float64(n.Free), true },
	"cpus":    func(n *wire.Node) (float64, bool) { return float64(n.CPUs), true },
	"memory":  func(n *wire.Node) (float64, bool) { return float64(n.MemoryMB), true },
	"jobs":    func(n *wire.Node) (float64, bool) { return float64(len(n.Jobs)), true },
}

// byType is how many GPUs the node has, how many are used and free; for several types the
// number of each, in the order of the types.
func byType(n *wire.Node) (has, used, free string) {
	if len(n.Types) == 0 {
		return fmt.Sprint(n.GPUs), fmt.Sprint(n.Used), fmt.Sprint(n.Free)
	}
	var all [3][]string
	for _, t := range n.Types {
		for i, count := range []int{t.GPUs, t.Used, t.Free} {
			all[i] = append(all[i], fmt.Sprint(count))
		}
	}
	return strings.Join(all[0], "+"), strings.Join(all[1], "+"), strings.Join(all[2], "+")
}

// HealthWord is the HEALTH column: the result of the reports against a node's GPUs.
func HealthWord(n wire.Node) string {
	switch {
	case n.Health == nil:
		return "-"
	case n.Health.Excluded:
		return "unfit"
	}
	return "doubted"
}

// HealthLines explain that column, one line per node.
func HealthLines(nodes []wire.Node) []string {
	var lines []string
	for _, n := range nodes {
		h := n.Health
		if h == nil {
			continue
		}
		line := fmt.Sprintf("%s: %s", n.Name, h.Why)
		if len(h.Jobs) > 0 {
			line += fmt.Sprintf(" (reported by job %s)", Numbers(h.Jobs))
		}
		switch {
		case !h.Excluded:
			line += ". Used nevertheless: " + h.Note
		case h.Until.IsZero():
			line += fmt.Sprintf(". No new job is placed there until a job reports it healthy; 'sluice nodes --trust %s' ends this", n.Name)
		default:
			line += fmt.Sprintf(". No new job is placed there until %s, or 'sluice nodes --trust %s'", When(h.Until), n.Name)
		}
		lines = append(lines, terminal.Escape(line)+".")
	}
	return lines
}

// Numbers formats a list as 41,42.
func Numbers(jobs []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(jobs), " ", ","), "[]")
}

// StateWord is the STATE column: Slurm's state in lower case; other reasons unchanged.
func StateWord(n wire.Node) string {
	if n.Usable {
		return "up"
	}
	if n.State == nodes.Unfit { // the HEALTH column and the lines below have more
		return "left out"
	}
	text := strings.ToLower(n.State)
	switch {
	case n.Note != "":
		text += " (" + n.Note + ")"
	case !n.Until.IsZero():
		text += " (used again from " + n.Until.Format(time.TimeOnly) + ")"
	}
	return text
}
