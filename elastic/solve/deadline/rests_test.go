package deadline

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestRestingAdmittedJobsKeepTheirSize: an admitted job that moved lately keeps its size, and needs no
// more, unless an earlier admission could be kept only otherwise; and no admission breaks
// because of it.
func TestRestingAdmittedJobsKeepTheirSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs, gpus := drawJobs(t)
		used := 0
		for i := range jobs {
			j := &jobs[i]
			if k := rapid.IntRange(0, len(j.Sizes)-1).Draw(t, "size"); rapid.Bool().Draw(t, "runs") && used+j.Sizes[k] <= gpus {
				j.Now, j.Rests, j.Until = j.Sizes[k], true, rapid.Float64Range(1, 200).Draw(t, "until")
			} else {
				j.Now, j.Keeps = 0, false
			}
			used += j.Now
		}
		plan, free := Decide(jobs, gpus, 0, 60), decide(jobs, gpus, 0, 60)
		kept := slices.Equal(plan.GPUs, free.GPUs) // else they were left alone
		sum := 0
		for i, j := range jobs {
			sum += plan.GPUs[i]
			if j.Promised && free.Promised[i] && !plan.Promised[i] {
				t.Fatalf("job %d lost its promise so that others rest", i)
			}
			if !kept && j.Rests && j.Promised && plan.GPUs[i] != j.Now {
				t.Fatalf("job %d rests on %d and gets %d", i, j.Now, plan.GPUs[i])
			}
			if !kept && j.Rests && j.Promised && plan.Least[i] > j.Now {
				t.Fatalf("job %d rests on %d and needs %d", i, j.Now, plan.Least[i])
			}
		}
		if sum > gpus {
			t.Fatalf("%d of %d GPUs", sum, gpus)
		}
	})
}

// TestRests: two admitted jobs would exchange places for a third that arrives; while they rest
// they stay, unless an admission would break.
func TestRests(t *testing.T) {
	resting := func(j Job, now int) Job {
		j.Promised, j.Now, j.Rests, j.Until, j.Keeps, j.Price = true, now, true, 30, true, 1
		return j
	}
	for _, c := range []struct {
		name string
		jobs []Job
		gpus int
		now  []int
	}{
		{"it has more than it needs, and a newcomer could be promised with that", []Job{resting(job(600, 2000), 4), job(1200, 1200)}, 4, []int{4, 0}},
		{"it has less than it will need, and time to rest", []Job{resting(job(1800, 1000), 1)}, 4, []int{1}},
		{"it has less than it needs at once", []Job{resting(job(3900, 1000), 1)}, 4, []int{4}},
		{"it has what another needs at once", []Job{resting(job(600, 5000), 2), resting(job(3950, 1000), 2)}, 5, []int{1, 4}},
	} {
		p := Decide(c.jobs, c.gpus, 0, 60)
		if !slices.Equal(p.GPUs, c.now) {
			t.Errorf("%s: %v, want %v (%v)", c.name, p.GPUs, c.now, p.Promised)
		}
	}
}
