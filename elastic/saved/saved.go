package saved

import (
	"math"
	"slices"
	"time"
)

// Run is a time at one size.
type Run struct {
	GPUs     int
	From, To time.Time
	Dead     time.Duration // at its beginning, in which the job did not train
	Seconds  float64       // measured seconds of a unit of work; 0 = not measured
}

// Job is a job that has ended, as it was.
type Job struct {
	Submitted, Ended time.Time
	Min, Max         int // sizes that it accepts; Max 0 = no bound
	Runs             []Run
}

// Figures are sums over all jobs, in hours.
type Figures struct {
	Wait     float64 // from submission to the first start
	Done     float64 // from submission to the end
	GPUHours float64
}

// Case is a replay under one pair of assumptions.
type Case struct {
	Size   string  // "minimum", "mean" or "largest": which size each job has
	Serial float64 // share of the work that more GPUs do not speed up, of jobs without measurements
	Figures
}

// Estimate is a value with its range over all cases.
type Estimate struct{ Mid, Low, High float64 }

// Result compares what happened with the cases.
type Result struct {
	Jobs   int
	GPUs   int // most that the jobs had at once: what the cases have
	Actual Figures
	Cases  []Case // the first is the middle one
	// What was saved; negative = it was more than with fixed sizes.
	Wait, Done, GPUHours Estimate
}

// MostJobs bounds the jobs of a comparison: the time of a replay grows with their square.
const MostJobs = 1000

// serials are the assumptions about jobs that were measured at one size only; the first is the middle.
var serials = []float64{.1, 0, .3}

// choices are the sizes that users might have chosen; the first is the middle.
var choices = []string{"mean", "minimum", "largest"}

// Compare compares jobs with themselves at fixed sizes. Jobs without a run are left out; of more
// than MostJobs the last ones count.
func Compare(jobs []Job) Result {
	jobs = slices.DeleteFunc(slices.Clone(jobs), func(j Job) bool { return len(j.Runs) == 0 || !j.Ended.After(j.Submitted) })
	slices.SortStableFunc(jobs, func(a, b Job) int { return a.Submitted.Compare(b.Submitted) })
	if len(jobs) > MostJobs {
		jobs = jobs[len(jobs)-MostJobs:]
	}
	r := Result{Jobs: len(jobs), GPUs: peak(jobs)}
	if len(jobs) == 0 || r.GPUs == 0 { // no run took any time: there is nothing to compare
		return Result{}
	}
	for _, j := range jobs {
		r.Actual.Wait += j.Runs[0].From.Sub(j.Submitted).Hours()
		r.Actual.Done += j.Ended.Sub(j.Submitted).Hours()
		for _, run := range j.Runs {
			r.Actual.GPUHours += float64(run.GPUs) * max(0, run.To.Sub(run.From).Hours())
		}
	}
	for _, size := range choices {
		for _, serial := range serials {
			fixed := make([]task, len(jobs))
			for i, j := range jobs {
				fixed[i] = j.fixed(size, serial, r.GPUs, jobs[0].Submitted)
			}
			r.Cases = append(r.Cases, Case{size, serial, queue(fixed, r.GPUs)})
		}
	}
	over := func(of func(Figures) float64) Estimate {
		e := Estimate{of(r.Cases[0].Figures) - of(r.Actual), math.Inf(1), math.Inf(-1)}
		for _, c := range r.Cases {
			saved := of(c.Figures) - of(r.Actual)
			e.Low, e.High = min(e.Low, saved), max(e.High, saved)
		}
		return e
	}
	r.Wait = over(func(f Figures) float64 { return f.Wait })
	r.Done = over(func(f Figures) float64 { return f.Done })
	r.GPUHours = over(func(f Figures) float64 { return f.GPUHours })
	return r
}

// peak is the most GPUs that the jobs had at once.
func peak(jobs []Job) int {
	type change struct {
		at   time.Time
		gpus int
	}
	var all []change
	for _, j := range jobs {
		for _, r := range j.Runs {
			if r.To.After(r.From) {
				all = append(all, change{r.From, r.GPUs}, change{r.To, -r.GPUs})
			}
		}
	}
	slices.SortFunc(all, func(a, b change) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.gpus - b.gpus // GPUs are given back BEFORE they are given out again
	})
	now, most := 0, 0
	for _, c := range all {
		now += c.gpus
		most = max(most, now)
	}
	return most
}

// fixed is the job at one size, capped by the GPUs there are: its training time at each size that it
// had becomes that at the fixed size by Amdahl's law.
func (j Job) fixed(size string, serial float64, gpus int, epoch time.Time) task {
	if s, known := j.serial(); known {
		serial = s
	}
	g := j.size(size)
	g = max(1, min(g, gpus))
	last := 0.0
	for _, r := range j.Runs {
		trained := max(0, r.To.Sub(r.From)-r.Dead).Seconds()
		last += trained * unit(g, serial) / unit(r.GPUs, serial)
	}
	start := max(0, j.Runs[0].Dead).Seconds() // it is started once, too
	return task{submitted: j.Submitted.Sub(epoch).Seconds(), lasts: last + start, gpus: g}
}

// unit is the time of a unit of work relative to 1 GPU.
func unit(gpus int, serial float64) float64 { return serial + (1-serial)/float64(max(1, gpus)) }

// size is the fixed size of a choice.
func (j Job) size(choice string) int {
	least, most, weighted, total := math.MaxInt, 0, 0.0, 0.0
	for _, r := range j.Runs {
		d := max(0, r.To.Sub(r.From).Seconds())
		weighted, total = weighted+float64(r.GPUs)*d, total+d
		least, most = min(least, r.GPUs), max(most, r.GPUs)
	}
	g := most
	switch {
	case choice == "minimum":
		g = max(1, j.Min)
	case choice == "mean" && total > 0:
		g = int(math.Round(weighted / total))
	}
	if j.Max > 0 {
		g = min(g, j.Max)
	}
	return max(g, j.Min)
}

// serial is the share of the work that more GPUs do not speed up, by least squares over the sizes at
// which the job was measured; known is false if there is one only.
func (j Job) serial() (s float64, known bool) {
	var x, y []float64 // seconds = y = a + b x, x = 1/GPUs
	seen := map[int]bool{}
	for _, r := range j.Runs {
		if r.Seconds > 0 && r.GPUs > 0 {
			x, y = append(x, 1/float64(r.GPUs)), append(y, r.Seconds)
			seen[r.GPUs] = true
		}
	}
	if len(seen) < 2 {
		return 0, false
	}
	n := float64(len(x))
	var sx, sy, sxx, sxy float64
	for i := range x {
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	b := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	a := (sy - b*sx) / n
	if sum := a + b; !(sum > 0) || math.IsInf(sum, 1) || math.IsNaN(a/sum) {
		return 0, false
	}
	return min(1, max(0, a/(a+b))), true
}
