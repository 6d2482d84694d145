package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// tooLong is why a job never starts: it asks for more time than its partition gives.
type tooLong struct {
	job       elastic.JobID
	asked     time.Duration // 0 = without end
	most      time.Duration
	partition string
}

func (t tooLong) String() string {
	asked := "asks for no time limit"
	if t.asked > 0 {
		asked = "asks for " + limit(t.asked)
	}
	minutes := max(1, int(t.most/time.Minute))
	return fmt.Sprintf("never starts: it %s, and the MaxTime of partition %s is %s; type: scontrol update JobId=%d TimeLimit=%d",
		asked, t.partition, limit(t.most), t.job, minutes)
}

// limit prints a time limit: "36 h", "90 min".
func limit(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}

// obstacle is what keeps a waiting job that comes first from starting.
type obstacle struct {
	want    int
	all     int   // usable GPUs of its partition
	free    []int // by node that has any
	uneven  bool  // it takes any split
	split   bool  // some split with different numbers is there now, and it takes none such
	minimum int   // jobs that run there at their minimum
	fixed   int   // jobs that run there and cannot be resized now
}

// obstacle looks at the nodes that the job may use.
func (w foresight) obstacle(p *prospect) obstacle {
	o := obstacle{want: p.least(), uneven: p.Spec.AllowUneven || w.snap.Limits.AnySplit}
	o.split = !o.uneven && unevenly(w.snap.Nodes, &p.Job, o.want, w.snap.Limits)
	usable := map[string]bool{}
	for _, n := range w.snap.Nodes {
		if !n.Usable || !slices.ContainsFunc(strings.Split(p.Partition, ","), n.In) {
			continue
		}
		usable[n.Name] = true
		if o.all += n.Has(p.Spec.Type()); n.FreeOf(p.Spec.Type()) > 0 {
			o.free = append(o.free, n.FreeOf(p.Spec.Type()))
		}
	}
	for i := range w.jobs {
		j := &w.jobs[i]
		if !slices.ContainsFunc(j.at.Nodes(), func(name string) bool { return usable[name] }) {
			continue
		}
		switch {
		case j.role == fixed:
			o.fixed++
		case j.now <= j.least():
			o.minimum++
		}
	}
	return o
}

func (o obstacle) String() string {
	head, free := fmt.Sprintf("waiting for %s: ", gpus(o.want)), 0
	var split []string
	for _, n := range o.free {
		free, split = free+n, append(split, fmt.Sprint(n))
	}
	switch where := strings.Join(split, "+"); {
	case free >= o.want && o.split:
		return head + fmt.Sprintf("%d are free, as %s on %d nodes, but a job gets the same number on each node; --allow-uneven at submit lifts that", free, where, len(split))
	case free >= o.want:
		return head + fmt.Sprintf("%d are free, as %s, but not with the CPUs, memory or number of nodes it needs", free, where)
	case free > 0:
		head += fmt.Sprintf("%d of %d are free", free, o.all)
	default:
		head += fmt.Sprintf("all %d GPUs are in use", o.all)
	}
	var holds []string
	if o.minimum > 0 {
		holds = append(holds, number(o.minimum, "job runs", "jobs run")+map[bool]string{true: " at its minimum", false: " at their minimum"}[o.minimum == 1])
	}
	if o.fixed > 0 {
		holds = append(holds, number(o.fixed, "job", "jobs")+" cannot be resized now")
	}
	if len(holds) > 0 {
		head += "; " + strings.Join(holds, ", ")
	}
	return head
}

// unevenly reports whether Slurm would give the job so many GPUs, with different numbers on
// the nodes, if it took such splits.
func unevenly(inventory []nodes.Node, j *elastic.Job, want int, l elastic.Limits) bool {
	r := j.Request(l)
	r.GPUs, r.Uneven = want, true
	return len(nodes.Place(inventory, []nodes.Request{r})[0].Placement) > 0
}

// impossible says why so many GPUs cannot be had even on an empty cluster.
func impossible(s *elastic.Snapshot, j *elastic.Job, want int) string {
	empty, most := slices.Clone(s.Nodes), 0
	for i := range empty {
		empty[i] = empty[i].Empty()
	}
	for _, partition := range strings.Split(j.Partition, ",") {
		have := 0
		for _, n := range empty {
			if n.In(partition) {
				have += n.FreeOf(j.Spec.Type())
			}
		}
		most = max(most, have)
	}
	head := fmt.Sprintf("cannot start: %s cannot be split evenly over the usable nodes of its partition; ", gpus(want))
	switch {
	case want > most:
		return fmt.Sprintf("cannot start: it needs %s, and the usable nodes of its partition have %d", gpus(want), most)
	case !j.Spec.AllowUneven && unevenly(empty, j, want, s.Limits):
		return head + "submit with --allow-uneven, or another --min-gpus"
	}
	return head + "submit with another --min-gpus"
}

func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// throttled is why a job of an array waits: as many of its tasks run as %N lets.
type throttled struct{ most int }

func (t throttled) String() string {
	return fmt.Sprintf("waits: %d of its array's tasks %s (%%%d)", t.most, map[bool]string{true: "runs", false: "run"}[t.most == 1], t.most)
}
