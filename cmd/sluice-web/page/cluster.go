package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/draw"
)

// clusterView is the cluster now.
type clusterView struct {
	At      int64 // of the report, Unix seconds
	Report  *wire.Report
	Bar     template.HTML
	Counts  counts
	Nodes   []nodeView
	Running []wire.Job // a few of them, the largest first
	More    int        // jobs that are not among them
	Moves   []wire.Job
	Notes   []note
	Lines   []wire.Share // accounts at the top of the tree, if shares count
}

// counts are GPUs by use, and jobs by state.
type counts struct {
	GPUs, Elastic, Other, Free, Out int
	Running, Waiting, Held, Demands int
	Resizing                        int
	DemandGPUs                      int
}

// nodeView is one node with its GPUs by job.
type nodeView struct {
	wire.Node
	Squares template.HTML
	Uses    []use
	Word    string // its state in one word; "" = fine
	Why     string
}

// use is what a job has of a node.
type use struct {
	JobID int64
	Name  string
	GPUs  int
}

// note is what needs a look.
type note struct {
	Text, Do string
	Job      int64
	Node     string
}

// fewJobs is how many running jobs the page of the cluster lists.
const fewJobs = 12

func (p *Pages) cluster(v *visit) (*sheet, error) {
	report, err := v.daemon.Present(v.Context())
	if err != nil {
		return nil, err
	}
	c := clusterView{At: report.At.Unix(), Report: &report}
	uses := usesOf(report.Jobs)
	for _, n := range report.Nodes {
		c.Nodes = append(c.Nodes, viewOf(n, uses[n.Name]))
		c.Counts.node(n)
	}
	for _, d := range report.Demands {
		c.Counts.Demands++
		c.Counts.DemandGPUs += d.GPUs
	}
	for _, j := range report.Jobs {
		switch state(&j) {
		case "running", "resizing":
			c.Counts.Running++
			c.Running = append(c.Running, j)
		case "held":
			c.Counts.Held++
		default:
			c.Counts.Waiting++
		}
		if j.Move != nil {
			if state(&j) == "resizing" {
				c.Counts.Resizing++
			}
			if len(c.Moves) < fewJobs {
				c.Moves = append(c.Moves, j)
			}
		}
	}
	slices.SortStableFunc(c.Running, func(a, b wire.Job) int { return cmp.Compare(b.GPUs, a.GPUs) })
	c.Running = c.Running[:min(len(c.Running), fewJobs)]
	c.More = len(report.Jobs) - len(c.Running)
	c.Bar = c.Counts.bar()
	c.Notes = p.notes(v, &report)
	if shares, err := v.daemon.Shares(v.Context()); err == nil && shares.Count {
		for _, l := range shares.Lines {
			if l.User == "" && l.Depth <= 1 && len(c.Lines) < fewJobs {
				c.Lines = append(c.Lines, l)
			}
		}
	}
	return &sheet{name: "cluster", title: "Cluster", view: c, refresh: true}, nil
}

// usesOf returns what each job has of each node, by node.
func usesOf(jobs []wire.Job) map[string][]use {
	out := map[string][]use{}
	for i := range jobs {
		j := &jobs[i]
		for _, at := range j.Place {
			if !j.Ended && j.GPUs > 0 {
				out[at.Node] = append(out[at.Node], use{j.JobID, short(j.Name, 32), at.GPUs})
			}
		}
	}
	return out
}

func (c *counts) node(n wire.Node) {
	c.GPUs += n.GPUs
	c.Elastic += n.Elastic
	c.Other += max(0, n.Used-n.Elastic)
	c.Free += n.Free
	c.Out += max(0, n.GPUs-n.Used-n.Free)
}

func (c counts) bar() template.HTML {
	if c.GPUs == 0 {
		return ""
	}
	return draw.Bar([]draw.GPUs{
		{Count: c.Elastic, Class: "elastic", Title: draw.Count(c.Elastic, "GPU") + " used by sluice's jobs"},
		{Count: c.Other, Class: "other", Title: draw.Count(c.Other, "GPU") + " used by other jobs"},
		{Count: c.Free, Class: "free", Title: draw.Count(c.Free, "GPU") + " free"},
		{Count: c.Out, Class: "out", Title: draw.Count(c.Out, "GPU") + " out of service"},
	}, fmt.Sprintf("Of %d GPUs %d are used by sluice's jobs, %d by other jobs, %d are free and %d out of service", c.GPUs, c.Elastic, c.Other, c.Free, c.Out))
}

// viewOf draws a node.
func viewOf(n wire.Node, uses []use) nodeView {
	v := nodeView{Node: n, Uses: uses}
	if !n.Usable {
		v.Word, v.Why = present.StateWord(n), n.Why
	} else if n.Health != nil {
		v.Word, v.Why = present.HealthWord(n), n.Health.Why
	}
	var parts []draw.GPUs
	left := n.GPUs
	add := func(count int, class, title string) {
		if count = min(count, left); count > 0 {
			parts = append(parts, draw.GPUs{Count: count, Class: class, Title: title})
			left -= count
		}
	}
	for _, u := range uses {
		add(u.GPUs, fmt.Sprintf("gpu h%d", draw.Hue(int(u.JobID))), fmt.Sprintf("%s of job %d, %s", draw.Count(u.GPUs, "GPU"), u.JobID, u.Name))
	}
	listed := 0
	for _, u := range uses {
		listed += u.GPUs
	}
	add(n.Elastic-listed, "elastic", draw.Count(max(0, n.Elastic-listed), "GPU")+" of jobs of sluice's that are not listed here")
	add(n.Used-n.Elastic, "other", draw.Count(max(0, n.Used-n.Elastic), "GPU")+" of other jobs")
	add(n.Free, "free", draw.Count(n.Free, "free GPU"))
	add(left, "out", "not usable: "+short(n.Why, 80))
	label := fmt.Sprintf("%s: %d of %d GPUs in use", short(n.Name, 40), n.Used, n.GPUs)
	v.Squares = draw.Squares(parts, label)
	return v
}

// maxNotes bounds what needs a look.
const maxNotes = 20

// notes are what needs a look: conditions of the daemon, nodes that are not used, and problems of
// jobs.
func (p *Pages) notes(v *visit, report *wire.Report) (out []note) {
	if status, err := v.daemon.Status(v.Context()); err == nil {
		for _, t := range status.Troubles {
			out = append(out, note{Text: t.Text, Do: t.Do})
		}
	}
	for _, n := range report.Nodes {
		if n.Health != nil && n.Health.Excluded {
			out = append(out, note{Text: n.Health.Why, Node: n.Name})
		}
	}
	for _, j := range report.Jobs {
		for _, problem := range j.Problems {
			out = append(out, note{Text: problem, Job: j.JobID})
		}
	}
	if len(out) > maxNotes {
		out = append(out[:maxNotes], note{Text: fmt.Sprintf("%d more; sluice explain JOB lists those of a job", len(out)-maxNotes)})
	}
	return out
}
