package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-hpc/sluice/elastic/vault/wire"
	"github.com/sluice-hpc/sluice/slurm"
)

// slow is a Slurm whose answers wait.
type slow struct {
	slurmClient
	asked  int
	answer chan error
}

func (s *slow) Jobs(context.Context) ([]slurm.Job, error) {
	s.asked++
	id := slurm.JobID(s.asked)
	return []slurm.Job{{ID: id}}, <-s.answer
}

// Who waits for a query of Slurm gets its outcome, a failure too; what a query began before a job was submitted says is nothing to
// those who ask after it.
func TestListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, from := &listing{}, &slow{answer: make(chan error)}
		type said struct {
			list []slurm.Job
			err  error
		}
		ask := func(n int, ctx context.Context) chan said {
			out := make(chan said, n)
			for range n {
				go func() {
					list, _, err := l.jobs(ctx, from)
					out <- said{list, err}
				}()
			}
			synctest.Wait()
			return out
		}
		failed := errors.New("slurmctld does not answer")
		all := ask(10, t.Context())
		from.answer <- failed
		for range 10 {
			if got := <-all; got.err != failed {
				t.Error(got.err)
			}
		}
		if from.asked != 1 {
			t.Errorf("asked %d times", from.asked)
		}

		before := ask(2, t.Context()) // the 2nd query
		l.forget()
		after := ask(2, t.Context()) // the 3rd
		if from.asked != 3 {
			t.Errorf("asked %d times", from.asked)
		}
		left, leave := context.WithCancel(t.Context())
		gone := ask(1, left)
		leave()
		if got := <-gone; got.err != context.Canceled {
			t.Error(got.err)
		}
		from.answer <- nil
		from.answer <- nil
		for range 2 {
			if got := <-before; got.err != nil || got.list[0].ID != 2 {
				t.Errorf("before: %+v", got)
			}
			if got := <-after; got.err != nil || got.list[0].ID != 3 {
				t.Errorf("after: %+v", got)
			}
		}
		if got := <-ask(1, t.Context()); got.list[0].ID != 3 || from.asked != 3 {
			t.Errorf("at once after it: %+v, asked %d times", got, from.asked)
		}

		time.Sleep(listedFor)
		old := ask(1, t.Context()) // the 4th
		time.Sleep(2 * askedAgain)
		recent := make(chan said, 1)
		go func() {
			list, _, err := l.since(t.Context(), from, askedAgain)
			recent <- said{list, err}
		}()
		synctest.Wait()
		from.answer <- nil
		from.answer <- nil
		if got := <-old; got.list[0].ID != 4 {
			t.Errorf("old: %+v", got)
		}
		if got := <-recent; got.list[0].ID != 5 {
			t.Errorf("who wants a list of this second: %+v", got)
		}
	})
}

// A list that lacks a job, of a query that began before the job was recorded as started, does not end it: the job may be younger
// than what that query saw, and another query saw it first.
func TestNotEndedByAnOlderList(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "50KB/job,100KB/week")
	began := time.Now()
	id := l.submit(ada)
	without := func(began time.Time, want string) {
		t.Helper()
		l.s.listed.mu.Lock()
		l.s.listed.at, l.s.listed.list = began, nil
		l.s.listed.mu.Unlock()
		j := l.s.vault.state.Job(id)
		l.must(l.s.refresh(t.Context(), j))
		if j.State != want {
			t.Errorf("%s, want %s", j.State, want)
		}
	}
	without(began, wire.StateStarted)
	without(time.Now(), wire.StateEnded)
	l.s.listed.forget()
	l.must(l.s.refresh(t.Context(), l.s.vault.state.Job(id))) // it is back
	without(began, wire.StateStarted)
	l.open()
	without(time.Now(), wire.StateEnded) // what started before a restart
}
