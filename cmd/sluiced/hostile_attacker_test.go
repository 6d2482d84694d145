package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// attack is what an attacker's process is told: it is this test's own binary, run
// as another Unix account.
type attack struct {
	What      string        // swap, break in or knock
	For       time.Duration // how long to swap
	Folder    bool          // his job's folder as a whole, mostly for a FIFO
	Jobs      string        // folder of the jobs' folders
	Own       string        // his own job's token
	OwnJob    int64
	Victim    string // the victim's job's folder
	VictimJob int64
	Token     string   // the victim's job's
	Outbox    string   // folder of sluiced's requests
	State     string   // of its database
	Socket    string   // where it answers
	Canaries  string   // files of the victim's outside
	Secrets   []string // more files that are not his
	Files     []string // what may not be changed
}

// attackVariable tells the test's binary to be an attacker and how.
const attackVariable = "SLUICE_TEST_ATTACK"

// Before TestMain: an attacker builds nothing.
func init() {
	text := os.Getenv(attackVariable)
	if text == "" {
		return
	}
	var a attack
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		panic(err)
	}
	var result any
	var err error
	switch a.What {
	case "swap":
		result, err = a.swap()
	case "break in":
		result = a.breakIn()
	case "knock":
		result = a.knock()
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "attacker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// tried is what came of attempts that should all fail.
type tried struct {
	Attempts  map[string]int
	Succeeded []string
	Odd       []string // failed, but not because they are forbidden
}

func (t *tried) that(kind, path string, err error) {
	t.Attempts[kind]++
	switch {
	case err == nil:
		t.Succeeded = append(t.Succeeded, kind+" "+path)
	case !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EXDEV) &&
		!errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.ENOTDIR) && !errors.Is(err, syscall.EISDIR) && !errors.Is(err, syscall.ENOTEMPTY):
		t.Odd = append(t.Odd, fmt.Sprintf("%s %s: %v", kind, path, err))
	}
}

// breakIn tries to change or read everything that is not his.
func (a attack) breakIn() tried {
	t := tried{Attempts: map[string]int{}}
	own := filepath.Join(a.Jobs, "break-"+a.Own)
	_ = os.Mkdir(own, 0o755)
	mine := filepath.Join(own, "mine")
	_ = os.WriteFile(mine, []byte("forged"), 0o666)
	for _, dir := range []string{a.Jobs, a.Outbox, a.State, filepath.Dir(a.Socket), a.Victim, filepath.Join(a.Outbox, a.Token), filepath.Join(a.Victim, "checkpoints")} {
		t.that("chmod", dir, os.Chmod(dir, 0o777))
		t.that("rename", dir, os.Rename(dir, dir+".old"))
		t.that("exchange", dir, unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, own, unix.RENAME_EXCHANGE))
		t.that("remove", dir, unix.Rmdir(dir))
		if dir == a.Jobs {
			continue // where he may make folders of his own
		}
		t.that("create", dir, os.WriteFile(filepath.Join(dir, "new"), nil, 0o644))
		t.that("mkdir", dir, os.Mkdir(filepath.Join(dir, "0123456789abcdef0123456789abcdef"), 0o755))
		t.that("link into", dir, os.Link(mine, filepath.Join(dir, "linked")))
		t.that("symlink into", dir, os.Symlink(mine, filepath.Join(dir, "symlinked")))
		t.that("rename into", dir, os.Rename(mine, filepath.Join(dir, "moved")))
	}
	for _, file := range a.Files {
		for kind, flag := range map[string]int{"append": os.O_WRONLY | os.O_APPEND, "write": os.O_RDWR, "create over": os.O_WRONLY | os.O_CREATE | os.O_TRUNC} {
			f, err := os.OpenFile(file, flag, 0o644)
			if err == nil {
				f.Close()
			}
			t.that(kind, file, err)
		}
		t.that("truncate", file, os.Truncate(file, 0))
		t.that("remove", file, os.Remove(file))
		t.that("chmod", file, os.Chmod(file, 0o666))
		t.that("replace", file, os.Rename(mine, file))
		t.that("set times", file, os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)))
		t.that("hard link", file, os.Link(file, filepath.Join(own, filepath.Base(file)+".link")))
	}
	for _, file := range a.Secrets {
		_, err := os.ReadFile(file)
		t.that("read", file, err)
	}
	l, err := net.Listen("unix", a.Socket)
	if err == nil {
		l.Close()
	}
	t.that("listen", a.Socket, err)
	return t
}

// knocked is what came of orders about the victim's job.
type knocked struct {
	Denied, TooMany int
	Others          []string
}

// knock speaks every verb that changes something about the victim's job, and trusts a
// node, which is an operator's to do.
func (a attack) knock() knocked {
	var k knocked
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := client.Dial(a.Socket)
	note := func(what string, err error) {
		switch {
		case errors.Is(err, wire.ErrDenied):
			k.Denied++
		case err != nil && strings.Contains(err.Error(), "too many"):
			k.TooMany++
		default:
			k.Others = append(k.Others, fmt.Sprintf("%s: %v", what, err))
		}
	}
	job := elastic.JobID(a.VictimJob)
	for _, incarnation := range []int{0, 1, 99} {
		for _, order := range []wire.Order{wire.Pin, wire.Unpin, wire.Hold, wire.Release} {
			change := wire.Change{Order: order, Incarnation: incarnation}
			if order == wire.Pin {
				change.GPUs = 1
			}
			note(change.String(), c.Direct(ctx, job, change))
		}
	}
	note("trust", c.Trust(ctx, "gpu1"))
	return k
}
