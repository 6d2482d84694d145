package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/attempts"
	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/checkpoint/pythontest"
	"github.com/sluice-hpc/sluice/checkpoint/tunneltest"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/command"
	"github.com/sluice-hpc/sluice/slurm/lab"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// cagedOnSlurm submits a confined job of an ordinary user to a lab, as sluice-vaultd does.
func cagedOnSlurm(t *testing.T, l *lab.Lab, c *caged, options ...string) *slurmJob {
	t.Helper()
	client, err := command.New(command.Config{Dir: filepath.Dir(l.Bin("squeue")), Conf: l.Conf(), Env: l.Env(), Now: time.Now})
	must(t, err)
	j := &slurmJob{live: c.live, lab: l, client: client}
	c.config.Fence = filepath.Join(c.base, confine.FenceFile)
	data, err := json.Marshal(c.fence)
	must(t, err)
	must(t, os.WriteFile(c.config.Fence, data, 0o644))
	config, err := json.Marshal(c.config)
	must(t, err)
	batch := filepath.Join(c.base, "batch")
	writeProgram(t, batch, fmt.Sprintf("#!/bin/sh\nexport %s='%s' GORACE=atexit_sleep_ms=0\nexec %s %s/script\n", asRunner, config, c.program, c.dir))
	submit := exec.Command(l.Bin("sbatch"), append(append([]string{"--parsable", "--requeue", "--open-mode=append", "--output=" + c.out}, options...), batch)...)
	submit.Env, submit.Dir = append(append(os.Environ(), l.Env()...), c.env...), "/"
	asOrdinary(submit)
	said, err := submit.CombinedOutput()
	if err != nil {
		t.Fatalf("sbatch: %v: %s", err, said)
	}
	id, err := strconv.ParseInt(strings.TrimSpace(string(said)), 10, 64)
	must(t, err)
	j.id = slurm.JobID(id)
	t.Cleanup(func() { client.Cancel(context.WithoutCancel(t.Context()), j.id); j.dump() })
	return j
}

// ended waits for the job's end in Slurm.
func (j *slurmJob) ended(want slurm.State) {
	j.Helper()
	j.until("it is "+string(want), func() bool {
		time.Sleep(100 * time.Millisecond)
		s := j.show().State
		return s == want
	})
}

// TestRelayCost measures an all-reduce through the relay, and the same on one node, over loopback. It asserts nothing
// of time; SLUICE_MEASURE_FENCE=1 runs it.
func TestRelayCost(t *testing.T) {
	if os.Getenv("SLUICE_MEASURE_FENCE") == "" {
		t.Skip("only in make confined, or with SLUICE_MEASURE_FENCE=1")
	}
	interpreter := pythontest.Frameworks(t)
	tunneltest.Need(t)
	program, err := os.ReadFile("testdata/reduce.py")
	must(t, err)
	l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 2, GPUs: 2})
	var took [2]float64
	for i, options := range [][]string{{"--nodes=1", "--ntasks=1", "--gpus-per-node=2"}, {"--nodes=2", "--ntasks=2", "--gpus-per-node=1"}} {
		c := newCaged(t, `export OMP_NUM_THREADS=1; exec srun "$SLUICE" ranks -- `+interpreter+" reduce.py 40\n", map[string]string{"reduce.py": string(program)})
		c.fence.Network, c.fence.Software = confine.Relayed, []string{filepath.Dir(filepath.Dir(interpreter))}
		j := cagedOnSlurm(t, l, c, options...)
		c.slowly("it has reduced", func() bool { return slurp(filepath.Join(c.inner, "reduced")) != "" })
		j.ended(slurm.Completed)
		_, err := fmt.Sscan(slurp(filepath.Join(c.inner, "reduced")), &took[i])
		must(t, err)
	}
	fmt.Printf("confined-reduce: megabytes=25 rounds=40 loopback_ms=%.1f relayed_ms=%.1f ratio=%.2f\n", 1e3*took[0], 1e3*took[1], took[1]/took[0]) // a line of its own, for the reliability report
}

// waysOfNodes are those that a network of several nodes could open, for the program (testdata/hostile_nodes.py, on
// each of two nodes) and for another account.
var waysOfNodes = []way{
	{"nodes_tcp", "TCP to the nodes' own addresses, to loopback outside, to slurmctld and slurmd"},
	{"nodes_udp", "UDP to the same"},
	{"nodes_beyond", "addresses of the job's network that are no node: TCP, UDP, broadcast"},
	{"nodes_multicast", "multicast through the job's network"},
	{"nodes_ipv6", "IPv6 through the job's network"},
	{"nodes_dns", "a name looked up"},
	{"nodes_spoofed", "packets from an address that is not the node's"},
	{"nodes_raw", "raw and packet sockets"},
	{"nodes_settings", "another address, route or MTU, forwarding, another device"},
	{"nodes_log", "output of the second node beyond the limit of the log"},
	{"nodes_exit", "the exit code of the second node"},
	{"relay_strangers", "the relays' ports, for another account"},
	{"relay_steps", "the servers of tasks, from outside"},
	{"relay_key", "the key of the run, for another account"},
	{"relay_files", "the program's packets, for another account"},
	{"relay_traffic", "how much the nodes send, for another account"},
}

var openWithNodes = map[string]string{
	"relay_traffic": "give confined jobs nodes of their own, on a network that other users cannot watch",
}

// TestFenceOnTwoNodes: two ranks of a confined job talk to each other from two nodes, and reach nothing else.
// SLUICE_MEASURE_FENCE=1 measures what the relay costs.
func TestFenceOnTwoNodes(t *testing.T) {
	tunneltest.Need(t)
	l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 2, GPUs: 1})
	files := map[string]string{}
	for _, name := range []string{"ping.py", "hostile_nodes.py"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		must(t, err)
		files[name] = string(text)
	}
	megabytes, rounds, times := "32", "100", "1"
	if os.Getenv("SLUICE_MEASURE_FENCE") != "" {
		megabytes, rounds, times = "256", "1000", "9"
	}
	c := newCaged(t, `srun "$SLUICE" ranks -- python3 ping.py `+megabytes+` `+rounds+` `+times+` || exit 9
srun -N 2 --label -- python3 hostile_nodes.py
say "step ends with $?"; srun -n1 sh -c 'echo "$SLURM_NTASKS task" >>"$SLUICE_JOB_DIR/story"'
await; save 1 "$request"; pause "$request"
exit 77
`, files)
	c.fence.Network = confine.Relayed
	o := c.listen()
	where, err := json.Marshal(o)
	must(t, err)
	name := filepath.Join(c.fence.Code, "outside.json")
	must(t, os.WriteFile(name, where, 0o600))
	must(t, os.Chown(name, int(c.uid), -1))
	j := cagedOnSlurm(t, l, c, "--nodes=2", "--ntasks=2", "--gpus-per-node=1")
	c.slowly("the ranks have tried all", func() bool { return strings.Contains(j.story(), "step ends") })
	j.tells("step ends with 77")
	j.tells("1 task")
	j.pinged(megabytes)
	outcomes := j.outcomes(o)
	j.asAnother(outcomes)
	report(t, "nodes", waysOfNodes, openWithNodes, outcomes)
	j.save()
	must(t, j.client.Cancel(t.Context(), j.id))
	j.ended(slurm.Cancelled)
	j.until("the log says that packets were dropped", func() bool { return strings.Contains(slurp(c.out), "were dropped") })
	c.countedOnEach(2)
}

// countedOnEach: the calls that the fences of so many nodes denied are counted, each node's in a file of its own.
func (c *caged) countedOnEach(nodes int) {
	c.Helper()
	if !attempts.Possible() {
		c.Log("NOT TESTED: that denied calls are counted on each node: this kernel does not tell of them")
		return
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(c.inner), attempts.Prefix+"*"+attempts.Suffix))
	must(c, err)
	if len(files) != nodes {
		c.Errorf("files of counts: %v, want %d", files, nodes)
	}
	for _, name := range files {
		if counts, err := attempts.Parse([]byte(slurp(name))); err != nil || counts.Total() == 0 || counts.Uncounted != "" {
			c.Errorf("%s: %+v, %v", name, counts, err)
		}
	}
}

// pinged: the two ranks found each other at their virtual addresses; what that costs is printed.
func (j *slurmJob) pinged(megabytes string) {
	j.Helper()
	type speed struct{ Seconds, Bytes, Trip float64 }
	var got [2]struct {
		World          int
		Node, Host     string
		Other          string
		Relayed, Plain speed
	}
	for i := range got {
		must(j, json.Unmarshal([]byte(slurp(filepath.Join(j.inner, fmt.Sprintf("ping.%d", i)))), &got[i]))
		if got[i].World != 2 || got[i].Node != fmt.Sprintf("gpu%d", i+1) || got[i].Host != confine.Address(i).String() {
			j.Errorf("rank %d: %+v", i, got[i])
		}
	}
	if got[0].Other != confine.Address(1).String() {
		j.Errorf("node 0 was called from %s", got[0].Other)
	}
	r, p := got[1].Relayed, got[1].Plain
	fmt.Printf("confined-relay: megabytes=%s relayed_mb_s=%.0f plain_mb_s=%.0f ratio=%.2f relayed_trip_us=%.0f plain_trip_us=%.0f\n", megabytes,
		r.Bytes/r.Seconds/1e6, p.Bytes/p.Seconds/1e6, r.Bytes/r.Seconds/(p.Bytes/p.Seconds), 1e6*r.Trip, 1e6*p.Trip) // a line of its own, for the reliability report
}

// outcomes are those of the program on both nodes: a way is blocked if it is on each. What came out decides.
func (j *slurmJob) outcomes(o *outside) map[string][2]string {
	j.Helper()
	all := map[string][2]string{}
	for rank := range 2 {
		for line := range strings.Lines(slurp(filepath.Join(j.inner, fmt.Sprintf("outcomes.%d", rank)))) {
			var row struct{ Way, Outcome, Detail string }
			must(j, json.Unmarshal([]byte(line), &row))
			if before, is := all[row.Way]; rank == 0 || is && before[0] == "blocked" {
				all[row.Way] = [2]string{row.Outcome, row.Detail}
			} else if !is {
				j.Errorf("%s is an outcome of one node only", row.Way)
			}
		}
	}
	for done := false; !done; {
		select {
		case what := <-o.got:
			j.Errorf("something came out by %s", what)
		default:
			done = true
		}
	}
	all["nodes_log"] = [2]string{"blocked", "the log is cut off"}
	if info, err := os.Stat(j.out); err != nil || info.Size() > 110_000 {
		all["nodes_log"] = [2]string{"open", fmt.Sprintf("%d bytes, %v", info.Size(), err)}
	}
	all["nodes_exit"] = [2]string{"blocked", "the first node's program alone has one"}
	if w := j.word(); w.Exit != nil || w.State != checkpoint.Training {
		all["nodes_exit"] = [2]string{"open", fmt.Sprintf("%+v", w)}
	}
	return all
}

// asAnother tries as another account of the node what a relay could open.
func (j *slurmJob) asAnother(outcomes map[string][2]string) {
	j.Helper()
	try := func(name, script string) string {
		cmd := exec.Command("sh", "-c", script)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: second, Gid: second}}
		}
		said, err := cmd.Output()
		if err != nil && len(said) == 0 {
			outcomes[name] = [2]string{"blocked", fmt.Sprint(err)}
		} else {
			outcomes[name] = [2]string{"open", fmt.Sprintf("%.200s", said)}
		}
		return string(said)
	}
	outcomes["relay_strangers"] = [2]string{"blocked", "once all nodes have met no relay listens; before that TestStrangers tries"}
	if ports := j.listening(append(j.running("fence-node"), j.word().PID)); len(ports) > 0 {
		outcomes["relay_strangers"] = [2]string{"open", fmt.Sprint(ports)}
	}
	try("relay_steps", fmt.Sprintf(`python3 -c 'import socket; s = socket.create_connection(("%s", %d), 2); s.settimeout(2)
s.send(b"{\"argv\": [\"id\"], \"env\": [], \"dir\": \"/\", \"node\": 1}"); r = s.recv(100); print(r) if r[:1] == b"{" else exit(1)'`, confine.Address(1), confine.StepPort))
	parts := ""
	for _, pid := range j.running("fence-node", "fence-serve", "--ntasks=2") {
		parts += fmt.Sprintf(" %d", pid)
	}
	if seen := try("relay_key", "for p in "+parts+"; do cat /proc/$p/environ; ls /proc/$p/fd; tr '\\0' ' ' </proc/$p/cmdline | grep -E '[A-Za-z0-9+/]{43}=|\"key\"'; done 2>/dev/null"); os.Getuid() != 0 {
		outcomes["relay_key"] = [2]string{"blocked", "not tried by another account: " + seen[:0]}
	}
	try("relay_files", "for p in "+parts+"; do cat /proc/$p/fd/* /proc/$p/mem; done 2>/dev/null")
	before := try("relay_traffic", "cat /proc/net/dev")
	if !strings.Contains(before, "lo:") {
		outcomes["relay_traffic"] = [2]string{"blocked", before}
	}
}

// running returns the processes that have one of these words among their first four arguments.
func (j *slurmJob) running(words ...string) (pids []int) {
	j.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(j, err)
	for _, name := range all {
		line := strings.Split(slurp(name), "\x00")
		line = line[min(1, len(line)):min(5, len(line))]
		if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(line, w) }) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			must(j, err)
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		j.Fatalf("no process has %q on its command line", words)
	}
	return pids
}

// listening returns the TCP sockets on which one of these processes listens, as in /proc/net/tcp.
func (j *slurmJob) listening(pids []int) (found []string) {
	var theirs []string
	for _, pid := range pids {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, l := range links {
			if to, err := os.Readlink(l); err == nil {
				theirs = append(theirs, to)
			}
		}
	}
	for line := range strings.Lines(slurp("/proc/net/tcp") + slurp("/proc/net/tcp6")) {
		if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" && slices.Contains(theirs, "socket:["+f[9]+"]") {
			found = append(found, f[1])
		}
	}
	return found
}

// killPart kills the job's part on one of its other nodes.
func (j *slurmJob) killPart(program string) {
	j.Helper()
	for _, pid := range j.running("fence-node") {
		if line := slurp(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.HasPrefix(line, program+"\x00") {
			must(j, syscall.Kill(pid, syscall.SIGKILL))
			return
		}
	}
	j.Fatal("it does not run")
}

// TestNodeLost: when a node leaves the network of a confined job with 4 GPUs on three nodes, its program is ended on all
// nodes, and tried again with new fences on all of them.
func TestNodeLost(t *testing.T) {
	tunneltest.Need(t)
	l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 3, GPUs: 2})
	c := newCaged(t, `srun "$SLUICE" ranks -- sh -c 'echo "rank $RANK of $WORLD_SIZE" >>"$SLUICE_JOB_DIR/story"; exec sleep 600'
say "the step ended"; exit 1
`, nil)
	c.fence.Network = confine.Relayed
	c.config.Retries, c.config.Backoff = 1, time.Second
	j := cagedOnSlurm(t, l, c, "--nodes=3", "--ntasks=3", "--gpus=4")
	all := func(times int) {
		t.Helper()
		j.until("all ranks run", func() bool {
			return !slices.ContainsFunc([]int{0, 1, 2, 3}, func(rank int) bool { return strings.Count(j.story(), fmt.Sprintf("rank %d of 4", rank)) != times })
		})
	}
	all(1)
	j.killPart(c.program)
	all(2)
	if log := slurp(c.out); !strings.Contains(log, " has left the job's network") || strings.Contains(j.story(), "the step ended") {
		t.Errorf("%s\n%s", log, j.story())
	}
	j.killPart(c.program)
	j.ended(slurm.Failed)
}
