package deadline

import "testing"

// TestAdmittedJobsDoNotTakeTurns: admitted jobs on GPUs that are just enough for all change size rarely.
// They could as well have the same GPUs in turn.
func TestAdmittedJobsDoNotTakeTurns(t *testing.T) {
	const gpus, round, price = 8, 60.0, 10.0
	var jobs []Job
	for i := range 6 { // each needs a third more than one GPU gives
		j := job(4/3.*7200, 7200)
		j.Due += 60 * float64(10*i)
		j.Price = price
		jobs = append(jobs, j)
	}
	changes := 0
	for now := 0.0; now < 3*7200 && len(jobs) > 0; now += round {
		plan := Decide(jobs, gpus, now, round)
		var next []Job
		for i, j := range jobs {
			lost := 0.0
			if n := plan.GPUs[i]; n != j.Now {
				j.Now, lost = n, price
				changes++
			}
			if !plan.Promised[i] {
				t.Fatalf("at %v job %d of %d is not promised its deadline: %+v", now, i, len(jobs), j)
			}
			j.Promised = true
			j.Work -= (round - lost) * j.rate(j.under(j.Now))
			if j.Due -= round; j.Work > 0 {
				next = append(next, j)
			}
		}
		jobs = next
	}
	if changes > 3*6 { // ten: their starts, and larger shares towards the end
		t.Errorf("%d changes of size", changes)
	}
}
