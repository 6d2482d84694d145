package store

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/disktest"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/store/contract"
)

// busyDaemon writes without end: for every number a move, a job and a complaint about a GPU, in
// separate transactions. It prints the number once all are acknowledged.
func busyDaemon(path string) int {
	ctx := context.Background()
	s, notices, err := Open(ctx, path, noon)
	if err != nil || len(notices) > 0 {
		fmt.Println("opened:", err, notices)
		return 1
	}
	if _, err := s.db.ExecContext(ctx, "PRAGMA wal_autocheckpoint = 30"); err != nil {
		fmt.Println("opened:", err)
		return 1
	}
	jobs, err := s.Jobs(ctx, time.Time{})
	for n := len(jobs) + 1; err == nil; n++ {
		if _, err = s.Intend(ctx, []elastic.Intent{contract.Intent(elastic.JobID(n))}); err == nil {
			err = s.SaveHealth(ctx, elastic.Health{{Sighting: elastic.Sighting{Node: "gpu" + strconv.Itoa(n%5), GPU: strconv.Itoa(n)}}})
		}
		if err == nil {
			err = s.SaveJobs(ctx, []journal.JobRecord{contract.Job(strconv.Itoa(n), elastic.JobID(n))})
		}
		if err == nil {
			fmt.Println(n)
		}
	}
	fmt.Println("failed:", err)
	return 1
}

// A daemon is killed repeatedly at any moment: the store opens without a notice, and holds
// everything that was acknowledged and at most one move more.
func TestKilledAtAnyMoment(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	path := newStory(disktest.Scratch(t)).path
	kills, acknowledged := max(15, campaign(t, 0)/50), 0
	for kill := range kills {
		acknowledged = max(acknowledged, killBusy(t, self, path, 1+rng.IntN(30), time.Duration(rng.IntN(2000))*time.Microsecond))
		s, notices := reopen(t, path)
		jobs, err1 := s.Jobs(never, time.Time{})
		open, err2 := s.Open(never)
		if err1 != nil || err2 != nil || len(notices) > 0 || len(jobs) < acknowledged || len(jobs) > acknowledged+1 || len(open)-len(jobs) > 1 || len(open) < len(jobs) {
			t.Fatalf("kill %d: %v, %v, notices %q, %d jobs and %d moves of %d", kill, err1, err2, notices, len(jobs), len(open), acknowledged)
		}
		acknowledged = len(jobs)
		if len(open) > len(jobs) { // killed in between: its job is free for the next daemon
			if err := s.Close(never, open[len(open)-1], elastic.Lost, reason.NumberGiven, noon); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Shutdown(); err != nil {
			t.Fatal(err)
		}
	}
	counted(t, "store-daemon-kills", kills)
	counted(t, "store-daemon-kills-acknowledged", acknowledged)
}

// killBusy starts a busy daemon, kills it some time after this many numbers, and returns the
// last number that it printed.
func killBusy(t *testing.T, program, path string, numbers int, after time.Duration) (last int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), "STORE_TEST_FILE="+path, "STORE_TEST_BUSY=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	lines := bufio.NewScanner(out)
	for seen := 0; lines.Scan(); seen++ {
		if last, err = strconv.Atoi(strings.TrimSpace(lines.Text())); err != nil {
			t.Fatal(lines.Text())
		}
		if seen == numbers {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	return last
}
