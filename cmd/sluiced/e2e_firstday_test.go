package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// freshSite is a real Slurm with slurmdbd on which sluice is not set up: no account for
// the daemon, no folders, no rights. One ordinary user has an association.
func freshSite(t *testing.T, user string) (*scene, string) {
	t.Helper()
	needsAccounting(t, "a first day was")
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, a first day was not tested: needs root to make accounts")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	up, err := site.Up(ctx, site.Config{Bin: bin, Accounts: []string{user}, Lab: lab.Config{
		Dir: filepath.Join("/tmp", fmt.Sprintf("sluice-e2e-%d-%d", os.Getpid(), scenes.Add(1))), Nodes: 1, GPUs: 4, Accounting: true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{Site: up, t: t, ctx: ctx}
	t.Cleanup(func() {
		if err := up.Down(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	s.must(s.Lab.Enroll(ctx, "phys", user))
	daemon := site.FreeAccount("sluice-test-fd")
	t.Cleanup(func() { _ = exec.Command("userdel", daemon).Run() })
	base := s.Path("fresh")
	s.Jobs, s.Outbox, s.State = base+"/shared/jobs", base+"/shared/outbox", base+"/var/sluice"
	s.Socket, s.Log = base+"/run/sluiced.sock", s.Path("sluiced.log")
	text := strings.NewReplacer(`"debug"`, `"info"`, `"json"`, `"text"`).Replace(quick) // the log of a real site
	s.must(site.Put(s.Conf, fmt.Appendf(nil, "[paths]\nstate = %q\njobs = %q\noutbox = %q\nsocket = %q\n[slurm]\nconf = %q\n[remote]\nuser = %q\n%s",
		s.State, s.Jobs, s.Outbox, s.Socket, s.Lab.Conf(), daemon, text), 0o644))
	s.must(s.PutLibrary())
	program, err := os.ReadFile("testdata/loop.py")
	s.must(err)
	s.must(site.Put(s.Path("loop.py"), program, 0o644))
	return s, daemon
}

// advice returns the commands that doctor says to type, in order.
func (s *scene) advice() (commands []string, failed int) {
	s.t.Helper()
	cmd, err := s.Command(s.ctx, "", "sluice", "doctor", "--json")
	s.must(err)
	raw, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	var all []struct{ Verdict, About, Text, Type string }
	s.must(json.Unmarshal(raw, &all))
	for _, f := range all {
		if f.Verdict != "FAIL" {
			continue
		}
		failed++
		s.t.Logf("%s: %s\n    -> %s", f.About, f.Text, f.Type)
		if f.Type == "" && f.About == "daemon" {
			continue // just repaired, and not checked again yet
		}
		if f.Type == "" {
			s.t.Fatalf("%s: %s: nothing to type", f.About, f.Text)
		}
		commands = append(commands, f.Type)
	}
	return commands, failed
}

// types runs a command line as root. Programs that it starts in the background write to sluiced's log.
func (s *scene) types(line string) {
	s.t.Helper()
	cmd, err := s.Command(s.ctx, "", "/bin/sh", "-c", line)
	s.must(err)
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	s.must(err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%s: %v\n%s", line, err, s.Tail(10))
	}
}

// endDaemon ends a sluiced that was started by hand.
func (s *scene) endDaemon() {
	status, err := s.Control().Status(context.Background())
	if err == nil {
		_ = syscall.Kill(status.PID, syscall.SIGTERM)
		_ = site.Until(context.Background(), 20*time.Second, "sluiced to stop", func() (bool, error) {
			return syscall.Kill(status.PID, 0) != nil, nil
		})
	}
}

// From an empty site to the completed job of an ordinary user, following only doctor's
// output.
func TestDoctorLeadsToARunningJob(t *testing.T) {
	const user = "sluice-test-m"
	s, daemon := freshSite(t, user)
	t.Cleanup(s.endDaemon)
	for round := 0; ; round++ {
		lines, failed := s.advice()
		if failed == 0 {
			break
		}
		if round == 4 {
			t.Fatalf("doctor still complains; sluiced's log:\n%s", s.Tail(30))
		}
		for _, line := range lines {
			s.types(line)
		}
		s.must(site.Until(s.ctx, 30*time.Second, "sluiced to look at Slurm", func() (bool, error) {
			status, err := s.Control().Status(s.ctx)
			return err == nil && !status.Cycled.IsZero(), nil
		}))
	}
	if status, err := s.Control().Status(s.ctx); err != nil || status.User != daemon || len(status.Troubles) > 0 {
		t.Errorf("%+v, %v", status, err)
	}
	j := s.submit("first", user, 6, []string{"--max-gpus=2"}, "--seconds", "0.4")
	j.until("to speak", func(v wire.Job) bool { return v.State == "RUNNING" && v.Speaks })
	j.completes()

	// A folder of the right owner and the wrong group is not approved.
	s.types("chgrp root " + s.Jobs)
	if lines, _ := s.advice(); len(lines) != 1 || !strings.Contains(lines[0], "-g "+daemon+" "+s.Jobs) {
		t.Errorf("advises %q", lines)
	}
}

// A sluiced without rights over jobs, or that cannot write requests, logs that once as an error, with
// what to do, and continues as soon as it can.
func TestTroublesAreToldOnce(t *testing.T) {
	const user = "sluice-test-n"
	s, daemon := freshSite(t, user)
	t.Cleanup(s.endDaemon)
	for range 3 { // all but the rights
		lines, _ := s.advice()
		for _, line := range lines {
			if !strings.HasPrefix(line, "sacctmgr") {
				s.types(line)
			}
		}
		if err := site.Until(s.ctx, 15*time.Second, "sluiced", func() (bool, error) {
			_, err := s.Control().Report(s.ctx)
			return err == nil, nil
		}); err == nil {
			break
		}
	}
	s.must(os.Chown(s.Outbox, 0, 0))
	s.endDaemon()
	lines, _ := s.advice()
	s.types(lines[len(lines)-1])
	told := func(code string) int {
		raw, err := os.ReadFile(s.Log)
		s.must(err)
		n := 0
		for line := range strings.Lines(string(raw)) {
			if strings.Contains(line, "trouble="+code) && strings.Contains(line, " ERR ") && strings.Contains(line, "type:") {
				n++
			}
		}
		return n
	}
	if err := site.Until(s.ctx, 20*time.Second, "both troubles", func() (bool, error) { return told("rights") > 0 && told("outbox") > 0, nil }); err != nil {
		t.Fatalf("%v; sluiced's log:\n%s", err, s.Tail(30))
	}
	raw, err := os.ReadFile(s.Log)
	s.must(err)
	before := len(raw)
	j := s.submit("stuck", user, 6, []string{"--max-gpus=2"}, "--seconds", "0.2")
	time.Sleep(10 * time.Second)
	raw, err = os.ReadFile(s.Log)
	s.must(err)
	warnings := strings.Count(string(raw[before:]), " WRN ") + strings.Count(string(raw[before:]), " ERR ")
	if warnings > 4 || told("outbox") != 1 {
		t.Errorf("%d warnings in 10 s, outbox %d times:\n%s", warnings, told("outbox"), raw[before:])
	}
	out, err := s.Run(s.ctx, user, "sluice", "status")
	if err == nil || !strings.Contains(out, "ERROR    "+daemon+" is not a Slurm operator") || !strings.Contains(out, "-> sacctmgr") {
		t.Errorf("status says: %v\n%s", err, out)
	}
	s.must(os.Chown(s.Outbox, statUID(t, s.Jobs), -1)) // only the rights are missing now
	time.Sleep(6 * time.Second)
	raw, err = os.ReadFile(s.Log)
	s.must(err)
	before = len(raw)
	time.Sleep(10 * time.Second)
	raw, err = os.ReadFile(s.Log)
	s.must(err)
	if lines := strings.Count(string(raw[before:]), "\n"); lines > 6 {
		t.Errorf("%d lines in 10 s without rights:\n%s", lines, raw[before:])
	}
	for {
		lines, failed := s.advice()
		if failed == 0 {
			break
		}
		for _, line := range lines {
			s.types(line)
		}
		time.Sleep(2 * time.Second)
	}
	j.completes()
}

func statUID(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}
