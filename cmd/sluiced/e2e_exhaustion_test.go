package main_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// starved is a running sluiced whose file descriptors the test limits.
type starved struct {
	*scene
	pid  int
	most string // how many it may have, as it started
}

// descriptors lets sluiced open files numbered below n only; those it has stay open. It
// is done as the daemon's own account: root in a container may not.
func (s *starved) descriptors(n string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.ctx, "prlimit", "--pid", strconv.Itoa(s.pid), "--noheadings", "--raw", "--output=SOFT", "--nofile"+n)
	u, err := user.Lookup(s.Lab.SlurmUser())
	s.must(err)
	if uid, _ := strconv.Atoi(u.Uid); uid != os.Geteuid() {
		gid, _ := strconv.Atoi(u.Gid)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("prlimit: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// highest is the highest number of a file that sluiced has open.
func (s *starved) highest() int {
	s.t.Helper()
	names, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.pid))
	s.must(err)
	most := 0
	for _, name := range names {
		n, _ := strconv.Atoi(name.Name())
		most = max(most, n)
	}
	return most
}

// said counts the lines of the log that have all the words.
func (s *starved) said(words ...string) int {
	s.t.Helper()
	log, err := os.ReadFile(s.Log)
	s.must(err)
	n := 0
	for _, line := range strings.Split(string(log), "\n") {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			n++
		}
	}
	return n
}

// looks waits until sluiced has seen Slurm anew.
func (s *starved) looks() {
	s.t.Helper()
	asked := time.Now()
	s.must(site.Until(s.ctx, time.Minute, "sluiced to look at Slurm", func() (bool, error) {
		r, err := s.Control().Report(s.ctx)
		return err == nil && r.At.After(asked) && r.Blind == "", nil
	}))
}

const noneLeft = "too many open files"

// F17: a sluiced without a free file descriptor logs that once, changes no job and
// continues by itself once there are some, whatever it was doing; and neither idle
// connections nor a job's huge files make it grow.
func TestDescriptorsRunOut(t *testing.T) {
	t.Parallel()
	c := play(t, withNodes(1, 4), withConfig(strings.Replace(quick, "[resize]", "backoff = \"2s\"\n[resize]", 1)))
	status, err := c.Control().Status(c.ctx)
	c.must(err)
	s := &starved{scene: c, pid: status.PID}
	s.most = s.descriptors("")

	a := s.submit("a", "", 30, []string{"--max-gpus=4"}, "--seconds", "0.6")
	ran := a.runsOn(4)
	s.descriptors("=3:")
	short, cancel := context.WithTimeout(s.ctx, 2*time.Second)
	if _, err := s.Control().Report(short); err == nil {
		t.Error("it answers without a descriptor: nothing is tested")
	}
	cancel()
	s.must(site.Until(s.ctx, 30*time.Second, "sluiced to notice", func() (bool, error) { return s.said(noneLeft, `"event":"blind"`) > 0, nil }))
	b := s.submit("b", "", 5, []string{"--max-gpus=1"}, "--seconds", "0.2") // its user needs no daemon
	time.Sleep(5 * time.Second)
	if !s.Alive() || a.field("JobState") != "RUNNING" || a.field("Restarts") != fmt.Sprint(ran.Restarts) {
		t.Errorf("alive: %t; the job is %s, %s restarts, not %d", s.Alive(), a.field("JobState"), a.field("Restarts"), ran.Restarts)
	}
	for _, words := range [][]string{{`"event":"blind"`}, {`"event":"undecided"`}, {"no request can be taken"}} {
		if n := s.said(append(words, noneLeft)...); n != 1 {
			t.Errorf("%v: %d lines", words, n)
		}
	}
	s.descriptors("=" + s.most + ":")
	s.looks()
	if s.said("Slurm answers again") == 0 || s.said("requests are taken again") == 0 {
		t.Error("it did not say that it is over")
	}

	// With a few left only half of each operation succeeds: it can query but not read,
	// request but not sign. The first job has to shrink for the second in the meantime.
	for extra := range 12 {
		s.descriptors(fmt.Sprintf("=%d:", s.highest()+extra))
		time.Sleep(700 * time.Millisecond)
	}
	s.descriptors("=" + s.most + ":")
	s.looks()
	b.completes()
	s.bounded()
	a.completes()
	if now, err := s.Control().Status(s.ctx); err != nil || now.PID != s.pid {
		t.Errorf("it is another one: %+v, %v", now, err)
	}
}

// bounded does to sluiced what a user can to make it grow.
func (s *starved) bounded() {
	s.t.Helper()
	huge := s.submit("huge", "", 1000, []string{"--max-gpus=1"}, "--seconds", "0.2")
	v := huge.until("to speak", func(v wire.Job) bool { return v.State == "RUNNING" && v.Speaks })
	before := vitalsOf(s.t, s.pid)
	progress, err := os.OpenFile(filepath.Join(s.Jobs, v.Token, "progress.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	s.must(err)
	_, err = progress.WriteString(strings.Repeat(strings.Repeat("x", 1<<20)+"\n", 64))
	s.must(err)
	s.must(progress.Truncate(4 << 30)) // the rest is a hole
	s.must(progress.Close())
	s.must(os.Truncate(filepath.Join(s.Jobs, v.Token, "runner.json"), 1<<30))

	const idle = 3000
	most := 0
	var held []net.Conn
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	for i := range idle {
		conn, err := net.Dial("unix", s.Socket)
		if err != nil {
			continue // its backlog is full
		}
		held = append(held, conn)
		if i%1000 == 999 {
			s.looks()
			most = max(most, vitalsOf(s.t, s.pid).fds)
		}
	}
	after := vitalsOf(s.t, s.pid)
	s.t.Logf("%d of %d idle connections were taken; at most %d files open, %d before; VmHWM %d -> %d MB", len(held), idle, most, before.fds, before.peakMB, after.peakMB)
	if most > before.fds+64 || after.peakMB > before.peakMB+64 {
		s.t.Errorf("sluiced grew: %+v to %+v", before, after)
	}
	s.cancel(huge)
}
