package page

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/draw"
)

// replayView is the cluster at a time of the past.
type replayView struct {
	At       time.Time // that is shown
	Seconds  int64     // the same from the beginning of the range
	Range    string
	Ranges   []string
	From, To time.Time
	Length   int64 // of the range in seconds
	Step     int64 // of the slider
	Chart    template.HTML
	Cluster  *wire.PastCluster // nil = there is no sample
	Bar      template.HTML
	Nodes    []nodeView
	Jobs     []jobThen
	Waiting  int // jobs that waited then
	Own      bool
	Kept     time.Time
	Since    time.Time // jobs that ended before are left out; zero = none is
	Blind    bool      // sluiced ran at this time, and Slurm did not answer it
	Gaps     bool      // the range has times that were not recorded
	Earlier  string    // links
	Later    string
	Trial    *trialView
}

// jobThen is a job that ran at that time.
type jobThen struct {
	wire.PastJob
	Run wire.Segment
}

// replayRanges are the ranges of the replay.
var replayRanges = []string{"6h", "24h", "168h", "720h"}

func (p *Pages) replay(v *visit) (*sheet, error) {
	view := replayView{Range: v.FormValue("range"), Ranges: replayRanges, To: v.now}
	if !slices.Contains(replayRanges, view.Range) {
		view.Range = replayRanges[1]
	}
	length, _ := time.ParseDuration(view.Range)
	if end, err := time.Parse(time.RFC3339, v.FormValue("to")); err == nil && end.Before(v.now) {
		view.To = end
	}
	view.From, view.Length = view.To.Add(-length), int64(length/time.Second)
	view.Step = max(1, view.Length/500)
	view.Seconds = view.Length
	if n, err := strconv.ParseInt(v.FormValue("at"), 10, 64); err == nil {
		view.Seconds = min(max(n, 0), view.Length)
	}
	view.At = view.From.Add(time.Duration(view.Seconds) * time.Second)
	link := func(to time.Time) string { return fmt.Sprintf("?range=%s&to=%s", view.Range, iso(to)) }
	view.Earlier = link(view.From.Add(length / 2))
	if view.To.Before(v.now.Add(-time.Minute)) {
		view.Later = link(view.To.Add(length / 2))
	}
	samples, err := clusters(v, view.From, view.To)
	if err != nil {
		return nil, err
	}
	past, jobs, err := pastJobs(v, view.From, view.To)
	if err != nil {
		return nil, err
	}
	view.Own, view.Kept = past.Own, past.Kept
	view.Since = leftOut(past, view.From)
	view.draw(samples)
	view.then(jobs)
	view.Trial = p.tries.of(v.viewer.Name)
	return &sheet{name: "replay", title: "Replay", view: view}, nil
}

// maxSamples bounds the samples of a range.
const maxSamples = 4000

func clusters(v *visit, from, to time.Time) (all []wire.PastCluster, err error) {
	q := client.PastQuery{Of: wire.OfNodes, From: from, To: to, Limit: wire.PastRowsMost}
	for {
		page, err := v.daemon.Past(v.Context(), q)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Clusters...)
		if q.Cursor = page.Next; q.Cursor == "" || len(all) >= maxSamples {
			return all, nil
		}
	}
}

// chartSteps is how many steps of time the chart of a range has.
const chartSteps = 240

// draw draws the range, and the nodes at the time that is shown.
func (view *replayView) draw(samples []wire.PastCluster) {
	if len(samples) == 0 {
		return
	}
	used, elastic, gap := make([]float64, chartSteps), make([]float64, chartSteps), make([]float64, chartSteps)
	most := 1.0
	for _, s := range samples {
		most = max(most, float64(s.GPUs))
	}
	for i := range used {
		at := view.From.Add(time.Duration(float64(view.Length) * (float64(i) + .5) / chartSteps * float64(time.Second)))
		if s := sampleAt(samples, at); s != nil && !s.Blind {
			used[i], elastic[i] = float64(s.Used), float64(s.Elastic)
		} else {
			gap[i], view.Gaps = most, true
		}
	}
	scale := timescale{from: view.From, to: view.To}
	view.Chart = draw.Levels([]draw.Series{{Class: "gap", Levels: gap}, {Class: "used", Levels: used}, {Class: "elastic", Levels: elastic}}, most,
		scale.ticks(8), float64(view.Length), float64(view.Seconds), "GPUs in use over the range, and the time that is shown", "GPUs")
	at := sampleAt(samples, view.At)
	if at == nil {
		return
	}
	if view.Blind = at.Blind; view.Blind {
		return
	}
	view.Cluster = at
	c := counts{GPUs: at.GPUs, Elastic: at.Elastic, Other: max(0, at.Used-at.Elastic), Free: at.Free, Out: max(0, at.GPUs-at.Used-at.Free)}
	view.Bar = c.bar()
}

// sampleAt returns the sample that a time belongs to; nil = it was not recorded. Samples are ascending. One
// stands for its Seconds, and for as long again: a cycle may be late.
func sampleAt(samples []wire.PastCluster, at time.Time) *wire.PastCluster {
	i, found := slices.BinarySearchFunc(samples, at, func(s wire.PastCluster, at time.Time) int { return s.At.Compare(at) })
	if !found {
		i--
	}
	if i < 0 || at.Sub(samples[i].At).Seconds() >= 2*samples[i].Seconds {
		return nil
	}
	return &samples[i]
}

// then fills in the jobs that ran at the time, and the nodes with their GPUs by job.
func (view *replayView) then(jobs []wire.PastJob) {
	var running []wire.Job
	for _, j := range jobs {
		end := view.To
		if !j.EndedAt.IsZero() {
			end = j.EndedAt
		}
		if j.Submitted.After(view.At) || !end.After(view.At) {
			continue
		}
		at := slices.IndexFunc(j.Runs, func(r wire.Segment) bool { return !r.Started.IsZero() && !r.Started.After(view.At) })
		for at >= 0 && at+1 < len(j.Runs) && !j.Runs[at+1].Started.IsZero() && !j.Runs[at+1].Started.After(view.At) {
			at++
		}
		if at < 0 || !runEnd(j.Runs, at, end).After(view.At) {
			view.Waiting++
			continue
		}
		view.Jobs = append(view.Jobs, jobThen{j, j.Runs[at]})
		running = append(running, wire.Job{JobID: j.JobID, Name: j.Name, GPUs: j.Runs[at].GPUs, Place: j.Runs[at].Place})
	}
	view.Jobs = view.Jobs[:min(len(view.Jobs), 500)]
	if view.Cluster == nil {
		return
	}
	uses := usesOf(running)
	for _, n := range view.Cluster.Nodes {
		w := wire.Node{Name: n.Name, GPUs: n.GPUs, Used: n.Used, Elastic: n.Elastic, Usable: n.Usable, State: n.State, Free: max(0, n.GPUs-n.Used)}
		if !n.Usable {
			w.Free, w.Why = 0, n.State
		}
		view.Nodes = append(view.Nodes, viewOf(w, uses[n.Name]))
	}
}
