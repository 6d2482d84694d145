package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// evils are the accounts of TestHostileUsers: one trains, two attack.
var evils = []string{"sluice-test-x", "sluice-test-y", "sluice-test-z"}

// siege is TestHostileUsers' site.
type siege struct {
	*scene
	victim   *job
	token    string
	canaries *canaries
	binary   string // this test's own, where other accounts may run it
	last     time.Duration
	mu       sync.Mutex
	figures  []string
}

func (s *siege) figure(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.figures = append(s.figures, fmt.Sprintf(format, args...))
}

// hostileFor is for how long the attackers exchange files: 20 s by default, 5 s with -short, or
// SLUICE_HOSTILE_FOR.
func hostileFor(t *testing.T) time.Duration {
	if text := os.Getenv("SLUICE_HOSTILE_FOR"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if testing.Short() {
		return 5 * time.Second
	}
	return 20 * time.Second
}

// Two accounts attack a third one's training and the daemon with everything that an account can do:
// requests, break-ins, forged jobs, and files exchanged as fast as possible. The training is
// complete, no file of another user was read or changed, the daemon is alive, and no output
// contains terminal control characters.
func TestHostileUsers(t *testing.T) {
	t.Parallel()
	last := hostileFor(t)
	// A short period: every read is a chance for an attacker that exchanges files.
	s := &siege{scene: play(t, withUsers(evils), withConfig(strings.Replace(quick, `period = "2s"`, `period = "1s"`, 1))), last: last}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute+2*last)
	defer cancel()
	s.ctx = ctx
	me, err := os.Executable()
	s.must(err)
	s.binary = filepath.Join(bin, "attacker")
	s.must(exec.Command("install", "-m", "755", me, s.binary).Run())
	u, err := user.Lookup(evils[0])
	s.must(err)
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	s.canaries = newCanaries(t, s.Path("canary"), uid, gid)

	s.victim = s.submit("victim", evils[0], 60+3*int(last/time.Second), []string{"--max-gpus=4"}, "--seconds", "0.4")
	v := s.victim.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" && v.Move == nil && v.Speaks })
	s.token = v.Token
	status, err := s.Control().Status(s.ctx)
	s.must(err)
	before := vitalsOf(t, status.PID)
	var all sync.WaitGroup
	denials := 0
	for i, name := range evils[1:] {
		a := s.attack(name, fmt.Sprintf("%032x", 0xe0+i))
		denials += s.invade(name, a)
		a.Folder = i > 0
		all.Go(func() { s.swap(name, a) })
	}
	denials += s.slurmAndCommands()
	poisoned := s.poisoned(evils[2])
	s.forgedJobs()
	s.tables()
	s.logs()
	all.Wait()
	after := vitalsOf(t, status.PID)
	if state := poisoned.ends(); state != "COMPLETED" {
		said, _ := os.ReadFile(filepath.Join(s.Home(evils[2]), "poisoned.out"))
		t.Errorf("the job from a poisoned environment ended as %s: %s", state, said)
	} else {
		poisoned.whole()
	}
	for _, name := range evils[1:] {
		s.as("", "scancel", "--quiet", "--user="+name)
	}
	tr := s.victim.completes()
	s.figure("the victim trained %d steps, %d missing, %d repeated, on %v GPUs", tr.Steps, tr.Missing, tr.Repeated, tr.Worlds)
	s.canaries.check(t)
	s.checkDaemon(before, after, status.PID)
	s.checkLog(denials)
	t.Log("\n" + strings.Join(s.figures, "\n"))
}

// attack starts a job of an attacker, and returns what the attacker knows.
func (s *siege) attack(name, token string) attack {
	s.t.Helper()
	a := attack{For: s.last, Jobs: s.Jobs, Own: token, Victim: filepath.Join(s.Jobs, s.token), VictimJob: s.victim.id, Token: s.token,
		Outbox: s.Outbox, State: s.State, Socket: s.Socket, Canaries: s.canaries.dir,
		Secrets: []string{s.canaries.dir + "/secret", s.State + "/sluice.db", "/etc/shadow", filepath.Join(s.Jobs, s.token, "runner.json"), filepath.Join(s.Jobs, s.token, "script")},
		Files:   []string{s.canaries.dir + "/secret", s.canaries.dir + "/open", s.State + "/sluice.db", s.Conf, s.Log, s.Socket},
	}
	for _, f := range []string{"runner.json", "progress.jsonl", "request.json", "script", "batch"} {
		a.Files = append(a.Files, filepath.Join(a.Victim, f))
	}
	for _, f := range []string{"target.json", "request.json"} {
		a.Files = append(a.Files, filepath.Join(a.Outbox, a.Token, f))
	}
	s.as(name, "mkdir", "-m", "755", filepath.Join(s.Jobs, token))
	out := filepath.Join(s.Jobs, token, "out")
	comment := "sluice/1 id=" + token + " inc=0 min=1 ; " + evilWords
	id, err := s.Sbatch(s.ctx, name, "--hold", "--requeue", "--gpus-per-node=1", "--nodes=1-1", "--ntasks=1", "--job-name="+evilWords,
		"--comment="+comment, "--output="+out, "--open-mode=append", "--wrap=printf '\\033[31m\\033]0;pwned\\007\\302\\233'; sleep 100000")
	s.must(err)
	a.OwnJob = id
	(&job{s: s.scene, id: id}).until("to run", func(v wire.Job) bool { return v.State == "RUNNING" })
	return a
}

// send runs the attacker's process to its end and reads its report.
func (s *siege) send(name string, a attack, result any) {
	s.t.Helper()
	text, err := json.Marshal(a)
	s.must(err)
	cmd, err := s.Command(s.ctx, name, s.binary)
	s.must(err)
	cmd.Env = append(cmd.Env, attackVariable+"="+string(text))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, result)
	}
	if err != nil {
		s.t.Errorf("%s, %s: %v: %s", name, a.What, err, errs.String())
	}
}

// invade attempts break-ins and orders; it returns the denials.
func (s *siege) invade(name string, a attack) int {
	var broken tried
	a.What = "break in"
	s.send(name, a, &broken)
	if len(broken.Succeeded) > 0 {
		s.t.Errorf("%s could: %v", name, broken.Succeeded)
	}
	total := 0
	for _, n := range broken.Attempts {
		total += n
	}
	s.figure("%s: %d break-ins of %d kinds, %d succeeded, %d failed for another reason than that they are forbidden", name, total, len(broken.Attempts), len(broken.Succeeded), len(broken.Odd))
	if total < 100 {
		s.t.Errorf("%s tried %d times only", name, total)
	}
	var k knocked
	a.What = "knock"
	s.send(name, a, &k)
	if len(k.Others) > 0 || k.Denied == 0 {
		s.t.Errorf("%s gave orders: %+v", name, k)
	}
	s.figure("%s: %d orders denied, %d too many at a time", name, k.Denied, k.TooMany)
	return k.Denied
}

// swap exchanges files for the whole time.
func (s *siege) swap(name string, a attack) {
	var out swapped
	a.What = "swap"
	s.send(name, a, &out)
	s.figure("%s: %d exchanges in %v (%.0f a second), %d failed, of %v; the kernel refused %v",
		name, out.Swaps, a.For, float64(out.Swaps)/a.For.Seconds(), out.Failed, out.Kinds, out.Refused)
	if out.Swaps < 1000 {
		s.t.Errorf("%s exchanged %d times only: is anything tested?", name, out.Swaps)
	}
}

// slurmAndCommands tries Slurm's own programs and sluice's on the victim's job. It
// returns how many of them sluiced denied.
func (s *siege) slurmAndCommands() (denied int) {
	id := fmt.Sprint(s.victim.id)
	tries := [][]string{
		{"scontrol", "update", "JobId=" + id, "Comment=sluice/1 id=" + s.token + " inc=9 min=1 hold=1"}, {"scontrol", "update", "JobId=" + id, "Name=pwned"},
		{"scontrol", "requeue", id}, {"scontrol", "requeuehold", id}, {"scontrol", "uhold", id}, {"scontrol", "suspend", id},
		{"scancel", id}, {"scancel", "--batch", "--signal=KILL", id},
		{"sluice", "cancel", id}, {"sluice", "hold", id}, {"sluice", "release", id}, {"sluice", "resize", id, "--gpus", "1"}, {"sluice", "nodes", "--trust", "gpu1"},
	}
	for _, args := range tries {
		out, err := s.Run(s.ctx, evils[1], args[0], args[1:]...)
		if err == nil {
			s.t.Errorf("%v by another user went through: %s", args, out)
			continue
		}
		if e := evil(err.Error()); e != "" {
			s.t.Errorf("%v: the error has %s", args, e)
		}
		if args[0] == "sluice" && args[1] != "cancel" { // that is Slurm's to refuse
			denied++
		}
	}
	s.figure("%d commands about the victim's job, all refused", len(tries))
	return denied
}

// forgedJobs submits jobs whose fields imitate another user's.
func (s *siege) forgedJobs() {
	tag := func(more string) string { return "sluice/1 id=" + s.token + " inc=0 min=1" + more }
	taken := 0
	try := func(args ...string) {
		s.t.Helper()
		cmd, err := s.Command(s.ctx, evils[1], args[0], args[1:]...)
		s.must(err)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if cmd.Run() == nil {
			taken++
		}
		// sbatch's messages go to its user as they are, and concern that user's own
		// input.
		if e := evil(errs.String()); e != "" && !strings.HasPrefix(errs.String(), "sbatch: ") {
			s.t.Errorf("%.200q: the error has %s", args, e)
		}
	}
	count := 0
	for _, comment := range []string{
		tag(""), tag(" pin=1"), tag(" hold=1"), strings.Replace(tag(""), "inc=0", "inc=999", 1),
		"sluice/1 id=../../../etc inc=0 min=1", "sluice/1 id=" + s.canaries.dir + " inc=0 min=1", "sluice/1 id=store inc=0 min=1", "sluice/1",
		tag("\n1|2|3|") + s.token, "sluice/1 " + evilWords, "sluice/1 id=" + strings.Repeat("a", 100<<10),
		"|:@|" + tag(""), "-h --help ; $(touch " + pwned + ")", tag(" min=1 min=2"), tag(" total=1e400"),
	} {
		count++
		try("sbatch", "--hold", "--requeue", "--comment="+comment, "--job-name=-"+evilWords, "--wrap=sleep 1")
	}
	long := strings.Repeat("n", 100<<10)
	for _, args := range [][]string{
		{"--job-name=" + evilWords}, {"--job-name=-rf"}, {"--job-name=" + long}, {"--comment=" + evilWords}, {"--comment=" + long}, {"--comment=a ; sluice/1 " + tag("")},
		{"--account=-" + evilWords}, {"--partition=;$(touch " + pwned + ")"}, {"--output=-" + evilWords + ".out"}, {"--model=../" + evilWords}, {"--wckey=" + evilWords}, {"--chdir=/" + evilWords},
	} {
		count++
		try(append(append([]string{"sluice", "submit", "--gpus=1"}, args...), "--wrap=sleep 1")...)
	}
	if _, err := os.Stat(pwned); err == nil {
		s.t.Errorf("a command in a name was executed: %s exists", pwned)
	}
	s.figure("%d forged jobs, %d of them taken by Slurm", count, taken)
}

// pwned is a file that appears if a user's text reaches a shell.
const pwned = "/tmp/pwned"

// tables runs every verb as three users and looks for bytes that a terminal acts upon.
func (s *siege) tables() {
	lines := [][]string{{"queue", "--all"}, {"queue", "--long"}, {"queue", "--json"}, {"queue", "--format=jobid,name,user,partition,state,reason,model,comment,nodes"},
		{"plan"}, {"plan", "--json"}, {"nodes"}, {"nodes", "--json"}, {"doctor"}, {"doctor", "--json"}}
	r, err := s.Control().Report(s.ctx)
	s.must(err)
	for i, j := range r.Jobs {
		if i < 4 { // the victim's, the attackers' that run, and one more
			for _, verb := range []string{"explain", "show", "history"} {
				lines = append(lines, []string{verb, fmt.Sprint(j.JobID)}, []string{verb, "--json", fmt.Sprint(j.JobID)})
			}
		}
	}
	seen, n := 0, 0
	for i, line := range lines {
		who := append(slices.Clone(evils), "")[i%4]
		cmd, err := s.Command(s.ctx, who, "sluice", line...)
		s.must(err)
		out, _ := cmd.CombinedOutput()
		if e := evil(string(out)); e != "" {
			s.t.Errorf("sluice %v: %s", line, e)
		}
		if slices.Contains(line, "--json") && !json.Valid(out) {
			s.t.Errorf("sluice %v: no JSON: %.300s", line, out)
		}
		if bytes.Contains(out, []byte("pwned")) {
			seen++
		}
		n++
	}
	s.figure("%d tables of %d jobs, hostile words in %d of them, none raw", n, len(r.Jobs), seen)
	if seen < 3 {
		s.t.Errorf("the hostile texts were in %d tables only: is anything tested?", seen)
	}
}

// logs looks at an attacker's output on a terminal.
func (s *siege) logs() {
	r, err := s.Control().Report(s.ctx)
	s.must(err)
	n := 0
	for _, j := range r.Jobs {
		if j.User == evils[0] || j.State != "RUNNING" {
			continue
		}
		for _, who := range []string{evils[0], ""} {
			master, slave := terminal(s.t)
			ctx, cancel := context.WithTimeout(s.ctx, 30*time.Second)
			cmd, err := s.Command(ctx, who, "sluice", "logs", fmt.Sprint(j.JobID))
			s.must(err)
			cmd.Stdout, cmd.Stderr = slave, slave
			s.must(cmd.Start())
			slave.Close()
			out, _ := io.ReadAll(master) // ends with EIO
			_ = cmd.Wait()
			if ctx.Err() != nil {
				s.t.Errorf("sluice logs %d hangs in the attacker's files", j.JobID)
			}
			cancel()
			if e := evil(strings.ReplaceAll(string(out), "\r\n", "\n")); e != "" {
				s.t.Errorf("sluice logs %d: %s", j.JobID, e)
			}
			if bytes.Contains(out, []byte(canarySong[:20])) || bytes.Contains(out, []byte("root:")) {
				s.t.Errorf("sluice logs %d shows what is not the job's: %.200q", j.JobID, out)
			}
			n++
		}
	}
	s.figure("%d logs of attackers' jobs on a terminal", n)
}

// checkDaemon fails the test if the daemon is dead or has grown.
func (s *siege) checkDaemon(before, after vitals, pid int) {
	now, err := s.Control().Status(s.ctx)
	if err != nil || now.PID != pid || !s.Alive() {
		s.t.Errorf("sluiced is not what it was: %+v, %v", now, err)
	}
	// It answers even while it hangs in a user's file: does it still query Slurm?
	asked := time.Now()
	if err := site.Until(s.ctx, 30*time.Second, "sluiced to look at Slurm", func() (bool, error) {
		r, err := s.Control().Report(s.ctx)
		return err == nil && r.At.After(asked), nil
	}); err != nil {
		s.t.Error(err)
	}
	s.figure("sluiced: VmHWM %d -> %d MB, %d -> %d open files", before.peakMB, after.peakMB, before.fds, after.fds)
	limit := 150
	if len(raceFlag) > 0 {
		limit *= 4
	}
	if after.peakMB > limit || after.fds > before.fds+16 {
		s.t.Errorf("sluiced grew: %+v to %+v", before, after)
	}
}

// checkLog fails the test if a denial is missing or the log has a raw control character.
func (s *siege) checkLog(denials int) {
	log, err := os.ReadFile(s.Log)
	s.must(err)
	if e := evil(string(log)); e != "" {
		s.t.Errorf("the log has %s", e)
	}
	told, problems := 0, 0
	for _, line := range strings.Split(string(log), "\n") {
		if strings.Contains(line, `"event":"denied"`) {
			told++
		}
		if strings.Contains(line, `"event":"problem"`) {
			problems++
		}
	}
	s.figure("%d denials, %d in the log; %d problems in it, %d KB", denials, told, problems, len(log)>>10)
	if told != denials {
		s.t.Errorf("%d denials, %d in the log", denials, told)
	}
}
