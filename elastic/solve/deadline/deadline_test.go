package deadline

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// job returns a job of linear speed up to 4 GPUs, one unit per second on 1 GPU, that is due by
// then.
func job(work, by float64) Job {
	return Job{Sizes: []int{1, 2, 4}, Rate: []float64{1, 2, 4}, Work: work, Due: by/(1-margin) + 1e-6}
}

func TestSmallestShare(t *testing.T) {
	for _, c := range []struct {
		name     string
		jobs     []Job
		gpus     int
		now      []int // GPUs
		promised []bool
	}{
		{"one GPU is enough, and the rest is free", []Job{job(600, 900)}, 4, []int{4}, []bool{true}},
		{"all four are just enough", []Job{job(2400, 600)}, 4, []int{4}, []bool{true}},
		{"no size is enough", []Job{job(2401, 600)}, 4, []int{4}, []bool{false}},
		{"the second fits beside the first", []Job{job(1200, 600), job(1200, 600)}, 4, []int{2, 2}, []bool{true, true}},
		{"the later deadline waits", []Job{job(2400, 1300), job(2400, 600)}, 4, []int{0, 4}, []bool{true, true}},
		{"three are too many: the largest is left out", []Job{job(2400, 600), job(600, 600), job(600, 600)}, 4, []int{0, 2, 2}, []bool{false, true, true}},
		{"what was promised goes before what is smaller", []Job{promised(job(2400, 600)), job(600, 600)}, 4, []int{4, 0}, []bool{true, false}},
		{"a job without a deadline gets what is left", []Job{job(1200, 600), inLine(job(1e6, math.Inf(1)))}, 4, []int{2, 2}, []bool{true, false}},
		{"they are served as they came", []Job{queues(4, 4), queues(1, 1)}, 3, []int{0, 0}, []bool{false, false}},
	} {
		p := Decide(c.jobs, c.gpus, 0, 60)
		for i := range c.jobs {
			if p.GPUs[i] != c.now[i] || p.Promised[i] != c.promised[i] {
				t.Errorf("%s: job %d gets %d GPUs, promised %t, want %d, %t", c.name, i, p.GPUs[i], p.Promised[i], c.now[i], c.promised[i])
			}
		}
	}
}

func promised(j Job) Job {
	j.Promised = true
	return j
}

func inLine(j Job) Job {
	j.Queues = true
	return j
}

// queues returns a job without a deadline that runs on one number of GPUs.
func queues(gpus int, rate float64) Job {
	return Job{Sizes: []int{gpus}, Rate: []float64{rate}, Work: 1e6, Due: math.Inf(1), Queues: true}
}

// TestPriceCounts: a share that is enough except for the start is not enough.
func TestPriceCounts(t *testing.T) {
	j := job(2400, 655)
	j.Price = 30
	if p := Decide([]Job{j}, 4, 0, 60); p.Promised[0] || math.Abs(p.Soonest[0]-630) > 1 {
		t.Errorf("%+v", p)
	}
	j.Now = 4 // it has these GPUs already
	if p := Decide([]Job{j}, 4, 0, 60); !p.Promised[0] {
		t.Errorf("%+v", p)
	}
}

// TestIdleGPUsAreUsedEarly: a job that is expensive to start does not wait while GPUs are idle,
// even if its deadline is years away. One that may be stopped again would pay twice.
func TestIdleGPUsAreUsedEarly(t *testing.T) {
	for stays, want := range map[bool]int{true: 4, false: 0} {
		j := promised(job(2400, 1e8))
		j.Price, j.Stays = 90, stays
		if p := Decide([]Job{j}, 4, 0, 60); (p.GPUs[0] > 0) != stays || p.GPUs[0] > want || !p.Promised[0] {
			t.Errorf("stays=%t: %+v", stays, p)
		}
	}
}

// TestNoStartBreaksAnAdmission: a job that could not be stopped again waits if an admitted
// job needs the GPUs later.
func TestNoStartBreaksAnAdmission(t *testing.T) {
	due, other := promised(job(4*600+1*590, 1200)), queues(1, 1)
	other.Work = 1e4
	for stays, want := range map[bool]int{true: 0, false: 1} {
		other.Stays = stays
		if p := Decide([]Job{due, other}, 4, 0, 60); p.GPUs[1] != want || !p.Promised[0] {
			t.Errorf("stays=%t: %+v", stays, p)
		}
	}
}

// TestSettledStaysSettled: a job that cannot be moved now is planned for as it is, and no other
// job is admitted on its GPUs.
func TestSettledStaysSettled(t *testing.T) {
	moving := promised(job(1200, 600))
	moving.Now, moving.Settled = 1, true
	p := Decide([]Job{moving, job(1800, 600)}, 4, 0, 60)
	if p.GPUs[0] != 1 || !p.Promised[0] || p.Promised[1] {
		t.Errorf("%+v", p)
	}
	slower := promised(Job{Sizes: []int{1, 2, 4}, Rate: []float64{1, 2, 1.5}, Work: 600, Due: 1200, Now: 4, Settled: true})
	if p := Decide([]Job{slower, inLine(job(1e6, math.Inf(1)))}, 4, 0, 60); p.GPUs[0] != 4 || p.GPUs[1] != 0 {
		t.Errorf("a size that is slower than a smaller one: %+v", p)
	}
}

// TestUnstoppableJobKeepsItsMinimum: a job that may not be stopped keeps its minimum, whatever was
// admitted.
func TestUnstoppableJobKeepsItsMinimum(t *testing.T) {
	keeps := queues(2, 1)
	keeps.Keeps, keeps.Now = true, 2
	p := Decide([]Job{keeps, job(2400, 600), job(1200, 600)}, 4, 0, 60)
	if p.GPUs[0] != 2 || p.Promised[1] || p.GPUs[2] != 2 || !p.Promised[2] {
		t.Errorf("%+v", p)
	}
}

// drawJobs draws jobs; those that may not be stopped fit together.
func drawJobs(t *rapid.T) (jobs []Job, gpus int) {
	gpus = rapid.IntRange(1, 32).Draw(t, "gpus")
	kept := 0
	for range rapid.IntRange(0, 12).Draw(t, "jobs") {
		j := Job{Due: math.Inf(1), Work: rapid.Float64Range(1, 1e5).Draw(t, "work"), Price: rapid.Float64Range(0, 100).Draw(t, "price")}
		for n := rapid.SampledFrom([]int{1, 1, 2, 3}).Draw(t, "least"); n <= 16; n *= 2 {
			j.Sizes, j.Rate = append(j.Sizes, n), append(j.Rate, rapid.Float64Range(.1, 20).Draw(t, "rate"))
		}
		if rapid.Bool().Draw(t, "dated") {
			j.Due = rapid.Float64Range(-100, 50_000).Draw(t, "due")
			j.Promised, j.Waits = rapid.Bool().Draw(t, "promised"), rapid.Bool().Draw(t, "waits")
		}
		j.Queues = math.IsInf(j.Due, 1)
		if kept+j.Sizes[0] <= gpus && rapid.Bool().Draw(t, "keeps") {
			j.Keeps, j.Now = true, j.Sizes[0]
			kept += j.Now
		}
		jobs = append(jobs, j)
	}
	return jobs, gpus
}

// TestPlansAreSound: no more GPUs than there are, only sizes that jobs accept, the minimum for
// those that keep it, and the same answer each time.
func TestPlansAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, gpus := drawJobs(t)
		now := rapid.Float64Range(0, 1e6).Draw(t, "now")
		p, again := Decide(jobs, gpus, now, 60), Decide(jobs, gpus, now, 60)
		sum := 0
		for i, j := range jobs {
			n := p.GPUs[i]
			sum += n
			if k := j.under(n); n < 0 || n > 0 && (k < 0 || j.Sizes[k] != n) || j.Keeps && n < j.Sizes[0] {
				t.Fatalf("job %d gets %d: %+v", i, n, j)
			}
			if j.Waits && !p.Promised[i] && n > 0 && !j.Keeps {
				t.Fatalf("job %d runs without a promise", i)
			}
			if p.Promised[i] && !(j.Due > 0) {
				t.Fatalf("job %d is promised what is over", i)
			}
			if n != again.GPUs[i] || p.Promised[i] != again.Promised[i] {
				t.Fatalf("job %d: %d, and again %d", i, n, again.GPUs[i])
			}
		}
		if sum > gpus {
			t.Fatalf("%d of %d GPUs", sum, gpus)
		}
	})
}

// TestLaterArrivalsRevokeNoAdmission: whatever jobs arrive later, an admitted job meets its deadline.
func TestLaterArrivalsRevokeNoAdmission(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, gpus := drawJobs(t)
		p := Decide(jobs, gpus, 0, 60)
		more, _ := drawJobs(t)
		before := len(jobs)
		for i := range jobs {
			jobs[i].Promised = p.Promised[i]
		}
		for _, j := range more {
			j.Promised, j.Keeps, j.Now = false, false, 0
			jobs = append(jobs, j)
		}
		q := Decide(jobs, gpus, 0, 60)
		for i := range before {
			if p.Promised[i] && !q.Promised[i] {
				t.Fatalf("job %d of %d lost its promise to %d others", i, before, len(more))
			}
		}
	})
}

// TestReachLeavesNothingOut: the share found is that of a search through all sizes.
func TestReachLeavesNothingOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, gpus := drawJobs(t)
		f := newFuture(gpus, 0, 60, 60_000)
		for i := range f.free {
			f.free[i] = rapid.IntRange(0, gpus).Draw(t, "free")
		}
		for _, j := range jobs {
			j = j.rising()
			j.Due = min(j.Due, 30_000)
			j.Settled = j.Now > 0 && rapid.Bool().Draw(t, "settled")
			end, smallest := f.until(j.Due), -1
			for k := max(0, j.floor()); k < len(j.Sizes) && smallest < 0 && end > 0; k++ {
				if f.work(&j, k, 0, end) >= j.Work {
					smallest = k
				}
			}
			c := f.share(&j)
			if (c != nil) != (smallest >= 0) || c != nil && c[end-1] != f.size(&j, end-1, smallest) {
				t.Fatalf("share %v, smallest size %d of %+v", c, smallest, j)
			}
		}
	})
}
