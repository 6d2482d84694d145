package main

import (
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
	"github.com/sluice-hpc/sluice/slurm"
)

var revokeAda = wire.Request{Do: wire.Revoke, Name: "mammo", Readers: []string{"ada"}}

// under submits a job as ada while 'sluice submit' goes as mode says, does something in mid-way, and returns the outcome.
func (l *lab) under(mode string, during func()) (wire.Answer, error) {
	l.t.Helper()
	l.mode(mode)
	type said struct {
		a   wire.Answer
		err error
	}
	done := make(chan said, 1)
	q, body := submissionOf("")
	go func() {
		a, _, err := l.ask(ada, q, body...)
		done <- said{a, err}
	}()
	before := filepath.Join(l.dir, "record-at-submission")
	if mode == "early" {
		before = filepath.Join(l.dir, "accepted")
	}
	for _, err := os.Stat(before); err != nil; _, err = os.Stat(before) {
		time.Sleep(5 * time.Millisecond)
	}
	during()
	l.must(os.WriteFile(filepath.Join(l.dir, "go"), nil, 0o600))
	got := <-done
	return got.a, got.err
}

// cancelled is how many entries say that a job was cancelled.
func (l *lab) cancelled() (n int) {
	for _, e := range l.entries() {
		if e.Event == vault.Cancelled {
			n++
		}
	}
	return n
}

// A job that sbatch had not yet handed over when the grant was revoked is cancelled once Slurm has it.
func TestRevokedInFlight(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "50KB/job,100KB/week")
	_, err := l.under("late", func() { l.get(hanna, revokeAda) })
	if !errors.Is(err, wire.ErrNotFound) || !slices.Equal(l.killed, []slurm.JobID{1}) || l.cancelled() != 1 {
		t.Errorf("%v, cancelled %v, %d entries", err, l.killed, l.cancelled())
	}
}

// A submission that another request saw in Slurm first has worked.
func TestSeenInFlight(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "50KB/job,100KB/week")
	a, err := l.under("early", func() {
		if jobs, _ := l.get(ada, wire.Request{Do: wire.Jobs}); len(jobs.Jobs) != 1 || jobs.Jobs[0].State != wire.StateStarted {
			t.Errorf("%+v", jobs.Jobs)
		}
	})
	if err != nil || a.JobID != 1 {
		t.Errorf("%+v, %v", a, err)
	}
}

// A job that had ended when the grant was revoked, and is brought back, is cancelled.
func TestRevokedAndBroughtBack(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "50KB/job,100KB/week")
	id := l.submit(ada)
	l.submit(bob)
	l.end(id)
	l.get(hanna, revokeAda)
	if len(l.killed) > 0 {
		t.Errorf("%v", l.killed)
	}
	l.ended[id] = false
	var lost []*vault.Job
	for range 3 {
		l.s.listed.forget()
		lost = l.s.minute(t.Context(), lost)
	}
	if len(l.killed) == 0 || slices.ContainsFunc(l.killed, func(n slurm.JobID) bool { return n != 1 }) || l.cancelled() != 1 {
		t.Errorf("cancelled %v, %d entries", l.killed, l.cancelled())
	}
}

// What could not be cancelled is tried again, each minute and by the owner; the answer names the jobs.
func TestRevokedWhileSlurmIsAway(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "50KB/job,100KB/week")
	l.submit(ada)
	l.stuck = true
	l.refused(wire.ErrUnavailable, "tries again each minute: job 1: slurmctld", hanna, revokeAda)
	l.silent = true
	l.s.listed.forget()
	l.refused(wire.ErrUnavailable, "does not say how the job is", hanna, revokeAda)
	var lost []*vault.Job
	for range 2 {
		lost = l.s.minute(t.Context(), lost)
	}
	if len(l.killed) > 0 || l.cancelled() != 1 {
		t.Errorf("%v, %d entries", l.killed, l.cancelled())
	}
	l.stuck, l.silent = false, false
	l.get(hanna, revokeAda)
	l.s.minute(t.Context(), lost)
	if !slices.Equal(l.killed, []slurm.JobID{1, 1}) || l.cancelled() != 1 {
		t.Errorf("%v, %d entries", l.killed, l.cancelled())
	}
}

// away is a directory of users that fails, or, when it is quiet, knows no group.
type away struct {
	testAccounts
	err   error
	quiet bool
}

func (a *away) Groups(name string) ([]string, error) {
	switch {
	case name != "bob" || a.err == nil:
		return a.testAccounts.Groups(name)
	case a.quiet:
		return nil, nil
	}
	return nil, a.err
}

func (a *away) Group(string) error { return a.err }

// While users cannot be looked up no job is cancelled, and nobody is told that they may not read.
func TestDirectoryAway(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "50KB/job,100KB/week")
	l.submit(bob)
	directory := &away{err: errors.New("sssd does not answer")}
	l.s.accounts = directory
	l.refused(wire.ErrUnavailable, "sssd does not answer", bob, wire.Request{Do: wire.Logs, Job: "1"})
	for _, directory.quiet = range []bool{false, true} { // the second time ada is gone already
		l.refused(wire.ErrUnavailable, "whether bob may read mammo is not known", hanna, revokeAda)
		l.s.minute(t.Context(), l.s.minute(t.Context(), nil))
	}
	if len(l.killed) > 0 {
		t.Errorf("cancelled: %v", l.killed)
	}
	directory.err, directory.quiet = nil, false
	var lost []*vault.Job
	for _, groups := range []bool{true, false, true, false, true} { // in no group, for a minute each
		l.s.accounts = directory
		if !groups {
			l.s.accounts = &one{name: "bob"}
		}
		lost = l.s.minute(t.Context(), lost)
	}
	if len(l.killed) > 0 {
		t.Errorf("cancelled: %v", l.killed)
	}
	l.s.accounts = directory
	l.get(hanna, wire.Request{Do: wire.Revoke, Name: "mammo", Readers: []string{"@radiology"}})
	if !slices.Equal(l.killed, []slurm.JobID{1}) {
		t.Errorf("cancelled: %v", l.killed)
	}
}

// Numbers of jobs that ended are free a window later, also if nobody asked for those jobs.
func TestNumbersOfEndedJobs(t *testing.T) {
	l := newLab(t)
	at := time.Now()
	l.s.vault.now = func() time.Time { return at }
	l.add("mammo", "2KB/job,2KB/day")
	for range 2 {
		l.end(l.submit(ada))
	}
	q, body := submissionOf("")
	l.refused(wire.ErrOverBudget, "leave you 0 bytes", ada, q, body...)
	l.s.minute(t.Context(), nil)
	at = at.Add(25 * time.Hour)
	l.submit(ada)
}

// What there is not, and what the caller may not see, take the same entry in the record, and so the same time.
func TestNothingInTheTime(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	id := l.submit(ada)
	entry := func(q wire.Request, body ...string) (e vault.Entry) {
		before := len(l.entries())
		if _, _, err := l.ask(eve, q, body...); !errors.Is(err, wire.ErrNotFound) {
			t.Error(err)
		}
		if all := l.entries(); len(all) > before {
			e = all[before]
		}
		return e
	}
	type about struct{ set, job string }
	for _, do := range []wire.Verb{wire.Audit, wire.Grant, wire.Revoke, wire.Review, wire.Show, wire.Logs, wire.Results, wire.Cancel, wire.Submit} {
		var all []vault.Entry
		for _, a := range []about{{"mammo", id}, {"nothing", strings.Repeat("0", wire.IDDigits)}} {
			q, body := wire.Request{Name: a.set, Job: a.job, Readers: []string{"eve"}}, []string(nil)
			if do == wire.Submit {
				q, body = submissionOf("")
				q.Data = []string{a.set}
			}
			q.Do = do
			all = append(all, entry(q, body...))
		}
		if all[0].Event != all[1].Event || all[0].Do != all[1].Do {
			t.Errorf("%s: %+v of what there is, %+v of what there is not", do, all[0], all[1])
		}
		if all[1].Set+all[1].Job != "" {
			t.Errorf("%s: a name from outside in the record: %+v", do, all[1])
		}
	}
	for range 2 { // nor in how often it is recorded
		l.s.denials = newPace(1, time.Hour)
		if entry(wire.Request{Do: wire.Logs, Job: "77"}).Event == "" || entry(wire.Request{Do: wire.Logs, Job: id}).Event != "" {
			t.Error("they are counted apart")
		}
	}
}

// lacking is a directory of users without a group.
type lacking struct {
	testAccounts
	group string
}

func (d lacking) Group(name string) error {
	if name == d.group {
		return user.UnknownGroupError(name)
	}
	return nil
}

// A group that there is not cannot read; one that was removed can be taken from the readers, and then jobs are cut off again.
func TestGroupThatIsNot(t *testing.T) {
	l := newLab(t)
	l.s.accounts = lacking{group: "radiolgy"}
	set := &wire.Set{Name: "mammo", Path: filepath.Join(l.dir, "sets", "mammo"), Readers: []string{"ada", "@radiolgy"}, Release: "50KB/job,100KB/week"}
	l.refused(wire.ErrBadRequest, "there is no group radiolgy", hanna, wire.Request{Do: wire.Add, Set: set})
	l.add("mammo", "50KB/job,100KB/week")
	l.refused(wire.ErrBadRequest, "there is no group radiolgy", hanna, wire.Request{Do: wire.Grant, Name: "mammo", Readers: []string{"bob", "@radiolgy"}})
	l.refused(wire.ErrNotFound, "", eve, wire.Request{Do: wire.Grant, Name: "mammo", Readers: []string{"@radiolgy"}})
	l.s.accounts = &away{err: errors.New("sssd does not answer")}
	l.refused(wire.ErrUnavailable, "sssd does not answer", hanna, wire.Request{Do: wire.Grant, Name: "mammo", Readers: []string{"@staff"}})
	l.s.accounts = testAccounts{}
	l.submit(ada)
	l.s.accounts = lacking{group: "radiology"}
	l.refused(wire.ErrUnavailable, "type: sluice data revoke mammo @radiology", hanna, revokeAda)
	if len(l.killed) > 0 {
		t.Errorf("cancelled: %v", l.killed)
	}
	l.get(hanna, wire.Request{Do: wire.Revoke, Name: "mammo", Readers: []string{"@radiology"}})
	if !slices.Equal(l.killed, []slurm.JobID{1}) {
		t.Errorf("cancelled: %v", l.killed)
	}
}

// What is not known is told once for each user and data set, and of some only.
func TestFewWordsOfManyJobs(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "50KB/job,100KB/week")
	const jobs = 8
	for range jobs {
		l.submit(bob)
	}
	l.s.accounts = &away{testAccounts: testAccounts{}, err: errors.New("sssd does not answer")}
	l.s.vault.mu.Lock()
	l.must(l.s.vault.write(vault.Entry{Event: vault.Granted, By: "hanna", Set: "mammo", Readers: []string{"@staff"}}))
	l.s.vault.mu.Unlock()
	_, _, err := l.ask(hanna, revokeAda)
	if err == nil || strings.Count(err.Error(), "sssd") != 1 || !strings.Contains(err.Error(), "run on: 8") {
		t.Errorf("of %d jobs: %v", jobs, err)
	}
	l.s.accounts, l.stuck = testAccounts{}, true
	_, _, err = l.ask(hanna, wire.Request{Do: wire.Revoke, Name: "mammo", Readers: []string{"@radiology", "@staff"}})
	if err == nil || strings.Count(err.Error(), "slurmctld") != mostTold || !strings.Contains(err.Error(), "3 more") {
		t.Errorf("of %d jobs: %v", jobs, err)
	}
	var many doubts
	for n := range 1000 {
		many.add(doubt{user: strconv.Itoa(n), set: "mammo", why: errors.New("sssd does not answer")})
	}
	if text := many.err().Error(); len(text) > 1000 || !strings.Contains(text, "995 more") {
		t.Errorf("of 1000 users: %d bytes", len(text))
	}
}

// cancelling is a Slurm that cancels nothing, and takes a time to say so.
type cancelling struct {
	*lab
	tried map[slurm.JobID]int
	first func() // while the first job is cancelled
}

func (h *cancelling) Cancel(ctx context.Context, id slurm.JobID) error {
	h.tried[id]++
	if h.first != nil {
		h.first()
		return nil
	}
	select {
	case <-time.After(20 * time.Second):
		return slurm.ErrUnknownOutcome
	case <-ctx.Done():
		return ctx.Err()
	}
}

// While Slurm cancels nothing a minute takes no longer than cutWithin, and all jobs take turns.
func TestMinuteEnds(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "50KB/job,100KB/week")
	const jobs = 8
	for range jobs {
		l.submit(ada)
	}
	l.s.vault.mu.Lock()
	l.must(l.s.vault.write(vault.Entry{Event: vault.Revoked, By: "hanna", Set: "mammo", Readers: []string{"ada"}}))
	l.s.vault.mu.Unlock()
	synctest.Test(t, func(t *testing.T) {
		stuck := &cancelling{lab: l, tried: map[slurm.JobID]int{}}
		l.s.slurm = stuck
		lost := l.s.minute(t.Context(), nil)
		for range 3 {
			begin := time.Now()
			if lost = l.s.minute(t.Context(), lost); time.Since(begin) > cutWithin {
				t.Errorf("a minute takes %v", time.Since(begin))
			}
		}
		if len(stuck.tried) != jobs {
			t.Errorf("tried in three minutes: %v", stuck.tried)
		}
	})
}

// A job whose user may read again is not cancelled, though it was lost when the pass began.
func TestGrantedAgainInMidPass(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "50KB/job,100KB/week")
	for range 3 {
		l.submit(ada)
	}
	slow := &cancelling{lab: l, tried: map[slurm.JobID]int{}}
	slow.first = func() { l.get(hanna, wire.Request{Do: wire.Grant, Name: "mammo", Readers: []string{"ada"}}) }
	l.s.slurm = slow
	l.get(hanna, revokeAda)
	if len(slow.tried) != 1 || l.cancelled() != 1 {
		t.Errorf("cancelled %v, %d entries", slow.tried, l.cancelled())
	}
}
