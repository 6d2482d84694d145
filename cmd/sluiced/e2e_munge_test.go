package main_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// mungers are the accounts of TestMungeAway.
var mungers = []string{"sluice-test-i"}

// mungeAway is for how long munged is down: 8 s by default, or SLUICE_MUNGE_AWAY.
func mungeAway(t *testing.T) time.Duration {
	text := os.Getenv("SLUICE_MUNGE_AWAY")
	if text == "" {
		return 8 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// farConf is a login node's configuration: nothing answers at its socket.
func (s *scene) farConf() string {
	s.t.Helper()
	near, err := os.ReadFile(s.Conf)
	s.must(err)
	far := s.Path("far.toml")
	s.write(far, strings.Replace(string(near), s.Socket, s.Path("nothing.sock"), 1))
	return far
}

// TestMungeAway: munged is killed during a resize and down for a while, and then killed and restarted
// during a stream of requests over TCP. sluiced stays alive and decides nothing meanwhile, errors
// say what to check, no failed request is carried out later, and afterwards everything works.
func TestMungeAway(t *testing.T) {
	t.Parallel()
	s := play(t, withUsers(mungers), withNodes(1, 4), withRemote(t))
	ann, far := mungers[0], s.farConf()
	j := s.submit("away", ann, 1000, []string{"--max-gpus=4"}, "--seconds", "0.5", "--save-seconds", "1")
	id := fmt.Sprint(j.id)
	s.as("", "sluice", "resize", id, "--gpus", "1")
	j.runsOn(1)

	j.pin(2, 2)
	s.must(s.Lab.KillMunge(s.ctx))
	gone := time.Now()
	_, err := s.Run(s.ctx, ann, "sluice", "resize", id, "--config", far, "--gpus", "4")
	if err == nil || !strings.Contains(err.Error(), "munge") {
		t.Errorf("an order over TCP without munged: %v", err)
	}
	away := mungeAway(t)
	if away >= time.Minute { // sbatch tries for 50 s
		if _, err := s.Run(s.ctx, ann, "sluice", "submit", "--gpus=1", "--wrap=true"); err == nil || !strings.Contains(strings.ToLower(err.Error()), "munge") {
			t.Errorf("a submit without munged: %v", err)
		}
	}
	// On the socket the kernel identifies the user.
	s.must(site.Until(s.ctx, time.Minute, "sluiced to say that it is blind", func() (bool, error) {
		cmd, err := s.Command(s.ctx, ann, "sluice", "queue")
		if err != nil {
			return false, err
		}
		out, err := cmd.CombinedOutput()
		return strings.Contains(string(out), "munged"), err
	}))
	time.Sleep(time.Until(gone.Add(away)))
	s.must(s.Lab.StartMunge(s.ctx))
	j.runsOn(2)

	pinned, restarts, done, failed := 2, 0, 0, 0
	for n := range 9 {
		want := 1 + n%3
		if n%3 == 0 {
			s.must(s.Lab.KillMunge(s.ctx))
			restarted := make(chan error, 1)
			go func() {
				time.Sleep(time.Duration(n*40) * time.Millisecond)
				restarted <- s.Lab.StartMunge(s.ctx)
			}()
			defer func() { s.must(<-restarted) }()
			restarts++
		}
		switch _, err := s.Run(s.ctx, ann, "sluice", "resize", id, "--config", far, "--gpus", fmt.Sprint(want)); {
		case err == nil:
			pinned, done = want, done+1
		case strings.Contains(err.Error(), "munge"):
			failed++
		default:
			t.Errorf("an order while munged is started again: %v", err)
		}
		s.fresh()
		if got := j.view().Pinned; got != pinned {
			t.Fatalf("pinned to %d GPUs, the last order that was answered says %d", got, pinned)
		}
	}
	t.Logf("munged was killed %d times; %d orders carried out, %d failed", restarts+1, done, failed)
	s.must(site.Until(s.ctx, time.Minute, "an order to be taken", func() (bool, error) {
		_, err := s.Run(s.ctx, ann, "sluice", "resize", id, "--config", far, "--gpus", "auto")
		return err == nil, nil
	}))
	j.until("to run and rest", func(v wire.Job) bool { return v.State == "RUNNING" && v.Move == nil && v.GPUs == 4 })
	s.cancel(j)
	if tr, err := site.ReadTraining(j.stepsLog(), j.epochs, perEpoch); err != nil || tr.Repeated > 0 || tr.Steps == 0 {
		t.Errorf("%d steps, %d trained twice, %v", tr.Steps, tr.Repeated, err)
	}
}

// fresh waits for one more cycle of sluiced, after which its report has the effects of all requests.
func (s *scene) fresh() {
	s.t.Helper()
	asked := time.Now()
	s.must(site.Until(s.ctx, time.Minute, "sluiced to look at Slurm", func() (bool, error) {
		r, err := s.Control().Report(s.ctx)
		return err == nil && r.At.After(asked), nil
	}))
}
