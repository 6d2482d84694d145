package lab

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// Status is the state of a lab.
type Status struct {
	Dir        string         `json:"dir"`
	Conf       string         `json:"conf"`
	Release    string         `json:"release"`
	SlurmUser  string         `json:"slurm_user"`
	Daemons    []DaemonStatus `json:"daemons"`    // those that should run, in order of start
	Steps      int            `json:"steps"`      // slurmstepd processes
	Controller bool           `json:"controller"` // slurmctld answers
	Nodes      []NodeStatus   `json:"nodes"`      // as slurmctld sees them; none when it does not answer
}

// DaemonStatus is the state of one daemon; PID 0 = not running.
type DaemonStatus struct {
	Name string `json:"name"` // munged, slurmctld, slurmd-gpu1
	PID  int    `json:"pid"`
}

// NodeStatus is one node in sinfo's words: "idle", "mixed", "down*".
type NodeStatus struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Gres  string `json:"gres"` // "gpu:4", or "(null)"
}

// Running reports whether any of the lab's daemons runs.
func (s Status) Running() bool {
	for _, d := range s.Daemons {
		if d.PID != 0 {
			return true
		}
	}
	return false
}

// Healthy reports whether every daemon runs, slurmctld answers and every node
// can run jobs.
func (s Status) Healthy() bool { return s.Trouble() == "" }

// Trouble describes the first thing that keeps the lab from being healthy.
func (s Status) Trouble() string {
	for _, d := range s.Daemons {
		if d.PID == 0 {
			return d.Name + " does not run"
		}
	}
	if !s.Controller {
		return "slurmctld does not answer"
	}
	if len(s.Nodes) == 0 {
		return "slurmctld lists no nodes"
	}
	for _, n := range s.Nodes {
		if !inService(n.State) {
			return "node " + n.Name + " is " + n.State
		}
	}
	return ""
}

// inService reports whether sinfo's state word means that the node can run jobs. A
// trailing mark such as * (not responding) means that it cannot.
func inService(state string) bool {
	switch state {
	case "idle", "mixed", "allocated", "completing", "mixed-", "allocated-", "idle-", "planned":
		return true
	}
	return false
}

// Status looks at the lab's processes and, if slurmctld runs, queries the nodes. A
// stopped or broken lab gives a Status, not an error.
func (l *Lab) Status(ctx context.Context) (Status, error) {
	s := Status{Dir: l.Dir(), Conf: l.Conf(), Release: l.Release(), SlurmUser: l.SlurmUser()}
	list, err := l.members()
	if err != nil {
		return s, &Error{Op: "lab status", Dir: l.Dir(), Err: err}
	}
	pids := map[string]int{}
	for _, m := range list {
		if m.kind == stepd {
			s.Steps++
		}
		// The first process of a daemon that forked is the parent.
		if name := m.daemon(); pids[name] == 0 || m.pid < pids[name] {
			pids[name] = m.pid
		}
	}
	for _, name := range l.daemonNames() {
		s.Daemons = append(s.Daemons, DaemonStatus{name, pids[name]})
	}
	if pids["slurmctld"] == 0 && pids[backupName] == 0 || pids["munged"] == 0 {
		return s, nil
	}
	if _, err := l.ask(ctx, "scontrol", "ping"); err != nil {
		return s, ctx.Err()
	}
	s.Controller = true
	out, err := l.ask(ctx, "sinfo", "-h", "-N", "-o", "%N|%T|%G")
	if err != nil {
		s.Controller = false
		return s, ctx.Err()
	}
	s.Nodes, err = parseNodes(out)
	return s, err
}

// daemonNames lists the daemons of the lab in order of start.
func (l *Lab) daemonNames() []string {
	names := []string{"munged"}
	if l.rec.Config.Accounting {
		names = append(names, "mariadbd", "slurmdbd")
	}
	names = append(names, "slurmctld")
	if l.rec.Config.Backup {
		names = append(names, backupName)
	}
	for _, n := range l.NodeNames() {
		names = append(names, slurmdName(n))
	}
	return names
}

// parseNodes reads sinfo's lines, one a node and partition, keeping one a node.
func parseNodes(text string) ([]NodeStatus, error) {
	var list []NodeStatus
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		f := strings.SplitN(line, "|", 3)
		if len(f) != 3 || f[0] == "" || f[1] == "" {
			return nil, fmt.Errorf("unreadable line from sinfo: %q", line)
		}
		if !seen[f[0]] {
			seen[f[0]] = true
			list = append(list, NodeStatus{f[0], f[1], f[2]})
		}
	}
	return list, nil
}

// WaitHealthy waits until the lab is healthy; the error says what was missing when ctx
// ended, or which daemon has ended.
func (l *Lab) WaitHealthy(ctx context.Context) error { return l.waitHealthy(ctx, nil) }

func (l *Lab) waitHealthy(ctx context.Context, started []*daemon) error {
	trouble := "not queried yet"
	for {
		s, err := l.Status(ctx)
		if err == nil {
			if trouble = s.Trouble(); trouble == "" {
				return nil
			}
		}
		for _, d := range started {
			select {
			case <-d.ended:
				return l.unhealthy(d.name, fmt.Errorf("%w: %s ended (%v)", ErrUnhealthy, d.name, d.how))
			default:
			}
		}
		if pause(ctx, 2*pollEvery) != nil {
			return &Error{Op: "lab", Dir: l.Dir(), Err: fmt.Errorf("%w: %s", ErrUnhealthy, trouble),
				Log: l.Logs(8), Hint: "the daemons' logs are in " + l.layout().join("log")}
		}
	}
}

// WaitNode waits until sinfo's word for the node's state is one of states, such as "idle"
// or "down*". The error contains the last state seen.
func (l *Lab) WaitNode(ctx context.Context, node string, states ...string) error {
	last := "not known"
	for {
		out, err := l.ask(ctx, "sinfo", "-h", "-n", node, "-N", "-o", "%N|%T|%G")
		if err == nil {
			nodes, _ := parseNodes(out)
			for _, n := range nodes {
				last = n.State
				for _, want := range states {
					if n.State == want {
						return nil
					}
				}
			}
		}
		if pause(ctx, 2*pollEvery) != nil {
			return &Error{Op: "lab", Dir: l.Dir(), Err: fmt.Errorf("%w: node %s is %s, waited for %s",
				ErrUnhealthy, node, last, strings.Join(states, " or ")), Log: l.Logs(8)}
		}
	}
}

// listening reports whether a process of this machine listens on the port of the IPv4
// address, or of all addresses. It reads the kernel's table, because Slurm would log a
// connection made as a test as an error.
func listening(addr string, port int) bool {
	text, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return true // unknown: the ping that follows will tell
	}
	v4 := net.ParseIP(addr).To4()
	one, all := fmt.Sprintf("%02X%02X%02X%02X:%04X", v4[3], v4[2], v4[1], v4[0], port), fmt.Sprintf("00000000:%04X", port)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) > 3 && (f[1] == one || f[1] == all) && f[3] == "0A" {
			return true
		}
	}
	return false
}

// Logs returns the last n lines of each daemon's output, each after the daemon's name,
// for the message of a failed test.
func (l *Lab) Logs(n int) []string {
	var list []string
	for _, name := range l.daemonNames() {
		for _, line := range lastLines(l.layout().out(name), n) {
			list = append(list, name+": "+strings.TrimPrefix(line, strings.SplitN(name, "-", 2)[0]+": "))
		}
	}
	return list
}

// lastLines returns at most n lines from the end of a file, of its last 16 KiB.
func lastLines(path string, n int) []string {
	f, err := os.Open(path)
	if err != nil {
		return []string{"no log: " + err.Error()}
	}
	defer f.Close()
	const tail = 16 << 10
	buf := make([]byte, tail)
	from := int64(0)
	if st, err := f.Stat(); err == nil && st.Size() > tail {
		from = st.Size() - tail
	}
	read, _ := f.ReadAt(buf, from)
	lines := strings.Split(strings.TrimRight(string(buf[:read]), "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	for i, line := range lines {
		lines[i] = strconv.QuoteToGraphic(line)[1 : len(strconv.QuoteToGraphic(line))-1]
	}
	return lines
}
