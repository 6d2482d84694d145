package runner_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// second is the uid of the user's other account on the node.
const second = 65533

var waysOfASecond = []way{
	{"process_environment", "environ and auxv of the program's processes"},
	{"process_maps", "their maps, with names of files"},
	{"process_contents", "their memory"},
	{"process_files", "their open files and folders"},
	{"process_links", "exe, cwd, root, ns"},
	{"process_calls", "syscall, stack, io, personality, timers"},
	{"process_mounts", "the tables of mounts, which everyone may read"},
	{"process_network", "names of abstract sockets and ports, in its tables of sockets"},
	{"process_names", "names of processes and threads"},
	{"process_attributes", "the priority that a process chose"},
	{"lock_ranges", "ranges of locks on files of its own, in /proc/locks"},
	{"vault_folders", "files in the vault: data, code, output, the program's folder"},
	{"vault_watched", "the same watched with inotify"},
	{"fifos", "fifos in the output"},
	{"setuid_file", "a setuid file in the output"},
	{"shared_folders", "/tmp, /dev/shm, /var/tmp, /run, /dev/mqueue"},
	{"shared_system_v", "System V memory, semaphores, queues and a POSIX queue made inside"},
	{"sockets_inside", "TCP, Unix and abstract sockets that listen inside"},
	{"enter_namespaces", "setns into the fence, by /proc and by pidfd"},
	{"trace", "ptrace, process_vm_readv, pidfd_getfd, kcmp"},
	{"signals", "signals to the program"},
	{"limits", "prlimit of the program"},
	{"job_folder", "all files of the job that others can read"},
	{"job_folder_names", "names of all files and folders that others can list"},
	{"job_folder_written", "files of the job written to"},
	{"file_times", "when a file of the software was read last"},
	{"page_cache", "whether a file of the software is in the page cache"},
	{"exit_code", "the exit code"},
	{"last_words", "the runner's note and its last words"},
	{"log", "the log beyond its limit"},
}

var openToASecond = map[string]string{
	"process_network":    "give confined jobs nodes of their own (sluice data add --nodes FEATURE), or mount /proc with hidepid=2",
	"process_names":      "give confined jobs nodes of their own (sluice data add --nodes FEATURE), or mount /proc with hidepid=2",
	"process_attributes": "give confined jobs nodes of their own (sluice data add --nodes FEATURE); hidepid does not close it",
	"lock_ranges":        "give confined jobs nodes of their own (sluice data add --nodes FEATURE); hidepid does not close it",
	"page_cache":         "give confined jobs nodes of their own (sluice data add --nodes FEATURE)",
}

// TestSecondAccount: a program that has read the data puts a secret into names, sockets, locks, files and all else that it has, and
// another account of the same node looks for it, knowing where everything is.
func TestSecondAccount(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("NOT TESTED: a second account beside a fence; it calls the kernel by amd64's numbers")
	}
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: a second account beside a fence: only root can be two accounts")
	}
	program, err := os.ReadFile("testdata/exposed.py")
	must(t, err)
	c := newCaged(t, "head -c 200000 /dev/zero | tr '\\0' 'x'; exec python3 exposed.py\n", map[string]string{"exposed.py": string(program)})
	secret, number := fmt.Sprintf("QX%08dQX", os.Getpid()), 1_000_000_007+int64(os.Getpid())
	c.fence.Software = []string{filepath.Join(c.base, "software")}
	must(t, os.Mkdir(c.fence.Software[0], 0o755))
	old := filepath.Join(c.fence.Software[0], "old")
	before := cold(t, old)
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free outside
	must(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	present := niceness(t)
	where := map[string]any{"present": present, "nice": min(19, present+6), "io": 5, "secret": secret, "number": number, "key": 0x52000000 + os.Getpid(), "inside": port, "old": old, "uid": c.uid, "job": c.dir, "base": c.base,
		"folders": []string{c.vault, c.fence.Inner, c.fence.Code, c.fence.Output, c.fence.Data["mammo"]}}
	told, err := json.Marshal(where)
	must(t, err)
	name := filepath.Join(c.fence.Code, "outside.json")
	must(t, os.WriteFile(name, told, 0o600))
	must(t, os.Chown(name, int(c.uid), -1))
	c.start()
	c.slowly("the secret is everywhere", func() bool { return slurp(filepath.Join(c.inner, "exposed")) != "" })
	t.Logf("what it could not even do: %s", slurp(filepath.Join(c.inner, "exposed")))
	outcomes := c.look(string(told))
	if n := outcomes["processes"][1]; n == "" || n == "0" {
		t.Errorf("the second account saw %q processes", n)
	}
	delete(outcomes, "processes")
	read := accessed(t, old) // BEFORE this test reads it
	warm := resident(old)
	must(t, os.WriteFile(filepath.Join(c.inner, "seen"), nil, 0o644))
	c.slowly("the program ends", func() bool {
		select {
		case <-c.done:
			return true
		default:
			return false
		}
	})
	c.exits(1)
	c.after(outcomes, secret, number, !read.Equal(before), warm)
	report(t, "account", waysOfASecond, openToASecond, outcomes)
}

// niceness is the priority of this process, from -20 to 19. Programs can make theirs a larger number only.
func niceness(t *testing.T) int {
	t.Helper()
	kernels, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // from 40 to 1
	must(t, err)
	return 20 - kernels
}

// look runs the second account's program.
func (c *caged) look(where string) map[string][2]string {
	c.Helper()
	text, err := os.ReadFile("testdata/second_account.py")
	must(c, err)
	cmd := exec.Command("/usr/bin/python3", "-c", string(text), where)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: second, Gid: second}}
	said, err := cmd.CombinedOutput()
	if err != nil {
		c.Fatalf("%v: %s", err, said)
	}
	outcomes := map[string][2]string{}
	for line := range strings.Lines(string(said)) {
		var row struct{ Way, Outcome, Detail string }
		must(c, json.Unmarshal([]byte(line), &row))
		outcomes[row.Way] = [2]string{row.Outcome, row.Detail}
	}
	return outcomes
}

// after adds what there is to see once the program has ended.
func (c *caged) after(outcomes map[string][2]string, secret string, number int64, read, warm bool) {
	c.Helper()
	is := func(name string, open bool, detail string) {
		outcomes[name] = [2]string{"blocked", ""}
		if open {
			outcomes[name] = [2]string{"open", detail}
		}
	}
	is("file_times", read, "it was changed by reading")
	is("page_cache", warm, "the file is in the cache now")
	word, _, err := c.mail.Runner(token, c.uid)
	must(c, err)
	is("exit_code", word.Exit == nil || word.Exit.Code != 1 || word.Exit.Signal != "", fmt.Sprintf("%+v", word.Exit))
	is("last_words", carries(slurp(filepath.Join(c.dir, "runner.json")), secret, number), "it has the secret")
	size := int64(len(slurp(c.out)))
	is("log", size > c.fence.Log+4096, fmt.Sprintf("%d bytes", size))
}

// carries reports whether a text has the secret, or the number, in one of the usual forms.
func carries(text, secret string, number int64) bool {
	for _, form := range []string{secret, hex.EncodeToString([]byte(secret)), strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "="), fmt.Sprint(number)} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// report logs the outcome of every way with their count, and fails for each that is open and not known to be.
func report(t *testing.T, who string, ways []way, known map[string]string, outcomes map[string][2]string) {
	t.Helper()
	open := 0
	for _, w := range ways {
		got := outcomes[w.name]
		outcome := "closed"
		if got[0] != "blocked" {
			open++
			outcome = "known"
			if _, is := known[w.name]; !is || got[0] != "open" {
				t.Errorf("%s: %q: %s", w.name, got[0], got[1])
				outcome = "open"
			}
		}
		remark := got[1]
		if outcome == "known" {
			remark = known[w.name]
		}
		t.Logf("way: %s %s: %-20s %s; %s", who, outcome, w.name, w.what, remark) // etc/confined reads it
		delete(outcomes, w.name)
	}
	for name := range outcomes {
		t.Errorf("%s is not in the table", name)
	}
	t.Logf("reliability: confined-ways %d", len(ways))
	t.Logf("reliability: confined-open %d", open)
}

// cold makes a file that nobody has read for a year and that is not in the page cache, and returns when it was read.
func cold(t *testing.T, name string) time.Time {
	t.Helper()
	must(t, os.WriteFile(name, make([]byte, 1<<20), 0o644))
	file, err := os.Open(name)
	must(t, err)
	defer file.Close()
	must(t, file.Sync())
	must(t, unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED))
	long := time.Now().Add(-365 * 24 * time.Hour).Truncate(time.Second)
	must(t, os.Chtimes(name, long, long.Add(time.Hour)))
	if resident(name) {
		t.Log("NOT TESTED: the page cache; the file stays in it")
	}
	return accessed(t, name)
}

// resident reports whether the beginning of a file can be read without waiting for a disk.
func resident(name string) bool {
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	n, err := unix.Preadv2(int(file.Fd()), [][]byte{make([]byte, 100)}, 0, unix.RWF_NOWAIT)
	return err == nil && n > 0
}

func accessed(t testing.TB, name string) time.Time {
	t.Helper()
	var stat unix.Stat_t
	must(t, unix.Stat(name, &stat))
	return time.Unix(stat.Atim.Unix())
}
