package workload

import "math/rand/v2"

// UnderAccounts returns the workload where each job without an account has one of these, drawn with
// the seed, each as likely as the others. Jobs that have an account keep it, and so does every
// job if there are none to draw.
func UnderAccounts(w Workload, accounts []string, seed uint64) Workload {
	if len(accounts) == 0 {
		return w
	}
	jobs := w.Jobs
	w.Jobs = func(yield func(Job) bool) {
		draw := stream(seed, accountsStream)
		for j := range jobs {
			j.drawAccount(accounts, draw)
			if !yield(j) {
				return
			}
		}
	}
	return w
}

func (j *Job) drawAccount(accounts []string, draw *rand.Rand) {
	if n := draw.IntN(len(accounts)); j.Account == "" {
		j.Account = accounts[n]
	}
}
