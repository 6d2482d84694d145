package runner

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// clients are one folder as several machines have it mounted, in $SLUICE_NFS; etc/nfs-world
// makes them.
func clients(t *testing.T) []string {
	t.Helper()
	list := filepath.SplitList(os.Getenv("SLUICE_NFS"))
	if len(list) < 2 {
		t.Skip("SKIPPED: no folder that is mounted over NFS several times (SLUICE_NFS); make nfs tries it")
	}
	return list
}

const nfsToken = "0123456789abcdef0123456789abcdef"

// shared is a job's two folders as one machine sees them.
type shared struct {
	folders
	*checkpoint.Mailbox
	name string
}

// machines makes a job's folders, and shows them as each machine sees them.
func machines(t *testing.T, from, to string) (daemon, node shared) {
	t.Helper()
	name := strings.ReplaceAll(t.Name(), "/", "-")
	for _, dir := range []string{"jobs", "outbox", "jobs/" + nfsToken, "jobs/" + nfsToken + "/checkpoints"} {
		if err := os.MkdirAll(filepath.Join(from, name, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.RemoveAll(filepath.Join(from, name)) })
	see := func(mount string) shared {
		jobs, outbox := filepath.Join(mount, name, "jobs"), filepath.Join(mount, name, "outbox")
		m, err := checkpoint.NewMailbox(jobs, outbox)
		if err != nil {
			t.Fatal(err)
		}
		id := checkpoint.Identity{Job: 7, Token: nfsToken}
		return shared{folders{id: id, jobDir: filepath.Join(jobs, nfsToken), outbox: filepath.Join(outbox, nfsToken)}, m, filepath.Base(mount)}
	}
	return see(from), see(to)
}

// late is how long a client may show what is no longer so. The kernel's caches last for 30 s
// and more; what is opened anew is asked for.
const late = 5 * time.Second

// sees waits until the condition holds and returns how long that took.
func sees(t *testing.T, what string, holds func() (bool, error)) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		ok, err := holds()
		took := time.Since(began)
		if ok {
			if took > late {
				t.Errorf("%s: seen after %.1f s", what, took.Seconds())
			}
			return took
		}
		if took > 90*time.Second {
			t.Fatalf("%s: not seen within %.0f s: %v", what, took.Seconds(), err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestNFSRequests: what sluiced asks, and takes back, the runner sees at once, and the
// program what the runner hands on; the answer and the progress come back the same way.
func TestNFSRequests(t *testing.T) {
	list, all := clients(t), 0
	for i, from := range list {
		for k, to := range list {
			if i == k {
				continue
			}
			t.Run(filepath.Base(from)+filepath.Base(to), func(t *testing.T) { exchange(t, from, to) })
			all += rounds(t)
		}
	}
	t.Logf("reliability: nfs-exchanges %d", all)
}

func exchange(t *testing.T, from, to string) {
	daemon, node := machines(t, from, to)
	// One goroutine a side looks, as sluiced and the runner do: while the other writes, too.
	requested := looks(t, func() (string, error) {
		got, err := node.request()
		if got == nil {
			return "", err
		}
		return got.ID, err
	})
	var offset int64
	done, noted := -1.0, ""
	heard := looks(t, func() (string, error) {
		got, _, err := daemon.Runner(nfsToken, 0)
		if err == nil {
			noted = got.Note
		}
		lines, next, bad, failed := daemon.Progress(nfsToken, 0, offset)
		if len(bad) > 0 {
			t.Errorf("bad lines: %v", bad)
		}
		offset = next
		for _, line := range lines {
			if line.Done != done+1 {
				t.Errorf("after the line %v came %v", done, line.Done)
			}
			done = line.Done
		}
		return fmt.Sprintf("%s %v", noted, done), errors.Join(err, failed)
	})
	for round := range rounds(t) {
		id := fmt.Sprintf("r-%d", round)
		now := time.Now()
		must(t, daemon.Ask(nfsToken, checkpoint.Request{Job: 7, ID: id, Asked: now, Deadline: now.Add(time.Minute), Why: "test"}))
		requested(id)
		must(t, node.write(checkpoint.RunnerFile, fmt.Appendf(nil, `{"version":1,"job":7,"restarts":0,"state":"training",
			"host":"h","pid":1,"first_line":"2026-11-23T09:30:00Z","beat":"2026-11-23T09:30:00Z","note":%q}`, id)))
		heard(fmt.Sprintf("%s %d", id, round-1))
		f, err := os.OpenFile(filepath.Join(node.jobDir, checkpoint.ProgressFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		must(t, err)
		_, err = fmt.Fprintf(f, "{\"time\": 1, \"restarts\": 0, \"event\": \"progress\", \"done\": %d}\n", round)
		must(t, errors.Join(err, f.Close()))
		heard(fmt.Sprintf("%s %d", id, round))
		if round%2 == 1 { // else the next one takes its place
			must(t, daemon.Withdraw(nfsToken))
			requested("")
		}
	}
}

// rounds is how often to try, $SLUICE_NFS_ROUNDS times.
func rounds(t *testing.T) int {
	if text := os.Getenv("SLUICE_NFS_ROUNDS"); text != "" {
		n, err := strconv.Atoi(text)
		must(t, err)
		return n
	}
	return 40
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// looks looks again and again, as each side does, so that there is something to remember.
// What it returns waits until that is seen.
func looks(t *testing.T, look func() (string, error)) (until func(want string)) {
	type sight struct {
		text string
		err  error
	}
	sights, over := make(chan sight), make(chan struct{})
	done := make(chan struct{})
	go func() { // ends with the test
		defer close(done)
		for {
			var s sight
			s.text, s.err = look()
			select {
			case <-over:
				return
			case sights <- s:
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	var worst time.Duration
	t.Cleanup(func() {
		close(over)
		<-done
		t.Logf("seen after %v at worst", worst)
	})
	return func(want string) {
		t.Helper()
		took := sees(t, want, func() (bool, error) {
			s := <-sights
			return s.text == want, s.err
		})
		worst = max(worst, took)
	}
}

// TestNFSProgram: the library sees a request that the runner hands on, on another node too.
func TestNFSProgram(t *testing.T) {
	list := clients(t)
	for _, to := range list[1:] {
		t.Run(filepath.Base(to), func(t *testing.T) {
			runner, program := machines(t, list[0], to)
			library, err := filepath.Abs("../python")
			if err != nil {
				t.Fatal(err)
			}
			// It looks every 20 ms and prints what it sees when that changes.
			cmd := exec.Command("/usr/bin/python3", "-uc", `
import sys, time
sys.path.insert(0, sys.argv[1])
from sluice import _files
last = None
while True:
    now = _files.read_request(sys.argv[2])
    if now != last:
        print("sees", now or "nothing", flush=True)
    last = now
    time.sleep(0.02)`, library, filepath.Join(program.jobDir, checkpoint.RequestFile))
			out := filepath.Join(t.TempDir(), "out")
			f, err := os.Create(out)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			cmd.Stdout, cmd.Stderr = f, f
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { cmd.Process.Kill(); cmd.Wait() }()
			last := func(want string) func() (bool, error) {
				return func() (bool, error) {
					b, err := os.ReadFile(out)
					return strings.HasSuffix(string(b), "sees "+want+"\n"), err
				}
			}
			var worst time.Duration
			for round := range 25 {
				worst = max(worst, sees(t, "none", last("nothing")))
				id := fmt.Sprintf("r-%d", round)
				if err := runner.write(checkpoint.RequestFile, []byte(`{"version":1,"job":7,"request":"`+id+`"}`)); err != nil {
					t.Fatal(err)
				}
				worst = max(worst, sees(t, "request", last(id)))
				if err := runner.unrelay(); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("at worst after %v", worst)
		})
	}
}
