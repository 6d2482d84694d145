package runner_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint/attempts"
)

// counts is what the runner counted of the job's denied calls.
func (c *caged) counts() attempts.Counts {
	c.Helper()
	counts, err := attempts.Parse([]byte(slurp(c.countsFile())))
	must(c, err)
	return counts
}

func (c *caged) countsFile() string {
	return filepath.Join(filepath.Dir(c.inner), attempts.Prefix+"testhost"+attempts.Suffix)
}

// toldOfHostile are the calls of testdata/hostile.py that the filter denies, each by its name in the record.
var toldOfHostile = []string{
	"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "add_key", "request_key", "keyctl", "bpf", "userfaultfd", "io_uring_enter", "io_uring_register",
	"perf_event_open", "mount", "umount2", "open_tree", "fsopen", "mount_setattr", "chroot", "pivot_root", "name_to_handle_at", "open_by_handle_at", "unshare", "setns",
	"clone(new namespaces)", "setrlimit(core dumps)", "ioctl(input of a terminal)", "syslog", "clock_settime", "sethostname", "seccomp(listener)",
	"socket(AF_PACKET)", "socket(AF_VSOCK)", "socket(AF_ALG)", "socket(AF_RDS)", "socket(AF_TIPC)", "socket(AF_BLUETOOTH)", "socket(AF_CAN)", "socket(AF_QIPCRTR)", "socket(AF_XDP)",
	"socket(AF_NETLINK)",
}

// told reports which calls were counted, and fails for each that was not, and for others.
func (c *caged) told(want []string) {
	c.Helper()
	counts := c.counts()
	if counts.Uncounted == attempts.OldKernel || counts.Uncounted == attempts.Refused {
		c.Logf("NOT TESTED: that denied calls are counted: %s", counts.Uncounted)
		return
	}
	missing := slices.Clone(want)
	for _, r := range counts.Rows {
		c.Logf("told: %6d %s by %s", r.Count, r.Call, r.Process)
		missing = slices.DeleteFunc(missing, func(call string) bool { return call == r.Call })
		if !slices.Contains(want, r.Call) {
			c.Errorf("%s is told, and nothing here makes it", r.Call)
		}
	}
	if len(missing) > 0 || counts.Uncounted != "" {
		c.Errorf("not told: %s; %s", strings.Join(missing, ", "), counts.Uncounted)
	}
	c.Logf("reliability: confined-attempts %d", counts.Total())
	c.Logf("reliability: confined-untold %d", len(missing))
}

// TestAttemptsInAFence: every denied call is counted, over several runs, in few rows whatever the names, and while the
// program runs; clone3 and io_uring_setup, which every training makes, are not.
func TestAttemptsInAFence(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("NOT TESTED: counts of denied calls in a fence; it calls the kernel by amd64's numbers")
	}
	if !attempts.Possible() {
		t.Skip("NOT TESTED: counts of denied calls: this kernel does not tell of them")
	}
	c := newCaged(t, "exec python3 calls.py\n", map[string]string{"calls.py": `
import ctypes, os, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
failed = set()
def call(n):
    libc.syscall(ctypes.c_long(n), ctypes.c_long(0), ctypes.c_long(0), ctypes.c_long(0))
    failed.add((n, ctypes.get_errno()))
def many():
    for _ in range(500): call(101)
threads = [threading.Thread(target=many) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
for i in range(20):
    libc.prctl(15, b"secret%d" % i, 0, 0, 0)
    call(165)
if os.fork() == 0:
    call(272); os.kill(os.getpid(), 9)
os.wait()
for _ in range(100): call(425); call(435)
with open(os.environ["SLUICE_JOB_DIR"] + "/story", "a") as f: print(sorted(failed), file=f)
while os.environ["SLUICE_RESTARTS"] == "0" and not os.path.exists(os.environ["SLUICE_JOB_DIR"] + "/go"): time.sleep(0.05)
`})
	rows := func(runs int64) (string, string) {
		var got []string
		for _, r := range c.counts().Rows {
			got = append(got, fmt.Sprintf("%d %s by %s", r.Count, r.Call, r.Process))
		}
		return strings.Join(got, "; "), fmt.Sprintf("%d ptrace by python3; %d mount by secret0; %d mount by secret1; %d mount by secret2; %d mount by secret3; %d mount by ; %d unshare by secret19",
			2000*runs, runs, runs, runs, runs, 16*runs, runs)
	}
	c.start()
	c.until("the counts of a program that runs are written", func() bool {
		if slurp(c.countsFile()) == "" {
			return false
		}
		got, want := rows(1)
		return got == want
	})
	writeProgram(t, filepath.Join(c.inner, "go"), "")
	c.exits(0)
	c.restarts++
	c.start().exits(0)
	if got, want := rows(2); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if want := "[(101, 1), (165, 1), (425, 1), (435, 38)]\n"; c.story() != want+want {
		t.Errorf("errors %s", c.story())
	}
}
