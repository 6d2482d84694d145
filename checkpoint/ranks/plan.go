package ranks

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/sluice-hpc/sluice/checkpoint/supervise"
)

// Node is what this node knows before it meets the others.
type Node struct {
	ID    int // 0-based, in Slurm's order
	Nodes int // nodes in this step
	Local int // processes to start here
	CPUs  int // CPUs of the job here; 0 = unknown
	// Meeting names the meeting of this step's nodes in the job's folder; "" if there is
	// a single node.
	Meeting string
	JobDir  string
	Name    string    // for messages
	Master  string    // address proposed by Slurm's variables; "" = none
	Port    int       // likewise; 0 = none
	Line    int       // node 0: port for the connections of the other nodes; 0 = none
	GPUs    int       // given by Slurm here, at least 1
	Gang    *gangNote // its part of a gang; nil without several kinds of tasks
}

// Look reads a Node from the environment. perNode > 0 overrides the number of GPUs found.
func Look(env map[string]string, host string, perNode int) (Node, error) {
	n := Node{Nodes: 1, Local: perNode, JobDir: env["SLUICE_JOB_DIR"], Name: host, Master: env["MASTER_ADDR"], GPUs: gpus(env)}
	if n.Local == 0 {
		n.Local = n.GPUs
	}
	n.Port, _ = strconv.Atoi(env["MASTER_PORT"]) // 0: a port is chosen
	n.CPUs, _ = strconv.Atoi(env["SLURM_CPUS_ON_NODE"])
	if !underSrun(env) {
		return n, nil // this node only
	}
	if name := env["SLURMD_NODENAME"]; name != "" {
		n.Name = name
	}
	if many(env["SLURM_STEP_TASKS_PER_NODE"]) {
		return n, errors.New("started several times on a node: start it once, as in: srun --ntasks-per-node=1 sluice ranks -- ...")
	}
	var err error
	if n.ID, err = strconv.Atoi(env["SLURM_NODEID"]); err != nil || n.ID < 0 {
		return n, fmt.Errorf("SLURM_NODEID=%q: want the node's number", env["SLURM_NODEID"])
	}
	if n.Nodes, err = strconv.Atoi(env["SLURM_STEP_NUM_NODES"]); err != nil || n.Nodes <= n.ID {
		return n, fmt.Errorf("SLURM_STEP_NUM_NODES=%q: want more than SLURM_NODEID=%d", env["SLURM_STEP_NUM_NODES"], n.ID)
	}
	if n.Nodes > 1 {
		if n.JobDir == "" {
			return n, errors.New("several nodes can only be joined in a job submitted through sluice: SLUICE_JOB_DIR is not set")
		}
		n.Meeting = restarts(env) + "." + env["SLURM_STEP_ID"]
		if !plainMeeting().MatchString(n.Meeting) {
			return n, fmt.Errorf("SLURM_STEP_ID=%q: want the step's number", env["SLURM_STEP_ID"])
		}
	}
	return n, nil
}

var plainMeeting = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+\.[0-9]+$`) })

// underSrun reports whether srun started the caller. A step number is not enough: since
// 26.05 the batch script has one, too.
func underSrun(env map[string]string) bool {
	return env["SLURM_STEP_NUM_NODES"] != "" || env["SLURM_STEP_NODELIST"] != ""
}

// restarts distinguishes the runs of a job: step numbers begin at 0 in each.
func restarts(env map[string]string) string {
	return strconv.Itoa(supervise.Restarts(env))
}

// many reports whether a list such as "1(x2)" has a count above 1.
func many(tasksPerNode string) bool {
	for part := range strings.SplitSeq(tasksPerNode, ",") {
		count, _, _ := strings.Cut(part, "(")
		if n, err := strconv.Atoi(count); err == nil && n > 1 {
			return true
		}
	}
	return false
}

// gpus counts the GPUs visible to processes here, at least 1: a program without a GPU
// runs as one process.
func gpus(env map[string]string) int {
	for _, name := range []string{"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"} {
		if ids := env[name]; ids != "" && ids != "NoDevFiles" && ids != "-1" {
			return len(strings.Split(ids, ","))
		}
	}
	if n, err := strconv.Atoi(env["SLURM_GPUS_ON_NODE"]); err == nil && n > 0 {
		return n
	}
	return 1
}

// World is what all nodes agreed on.
type World struct {
	Size   int
	First  int // rank of this node's first process
	Master string
	Port   int
	Line   int     // node 0's port for the connections of the other nodes; 0 = none
	Agree  int     // rank 0's port for agreements of ranks without torch or MPI; 0 = none
	Peers  []Peer  // all nodes, if they met
	Gang   []Group // for each kind, the workers first; empty without several kinds
}

// Peer is one of the nodes that met.
type Peer struct {
	Name  string
	First int // rank of its first process
}

// variables returns the variables for the process with a local number, in addition to
// env.
func (n Node) variables(w World, local int, env map[string]string) []string {
	set := func(name string, v int) string { return name + "=" + strconv.Itoa(v) }
	own := []string{
		set("RANK", w.First+local), set("WORLD_SIZE", w.Size),
		set("LOCAL_RANK", local), set("LOCAL_WORLD_SIZE", n.Local),
		set("GROUP_RANK", n.ID),
	}
	if w.Agree > 0 {
		own = append(own, "SLUICE_AGREE="+net.JoinHostPort(w.Master, strconv.Itoa(w.Agree)))
	}
	return append(own, n.shared(w, env)...)
}

// shared returns the variables for all processes of the node.
func (n Node) shared(w World, env map[string]string) []string {
	set := func(name string, v int) string { return name + "=" + strconv.Itoa(v) }
	out := []string{set("NODE_RANK", n.ID), "MASTER_ADDR=" + w.Master, set("MASTER_PORT", w.Port)}
	if env["OMP_NUM_THREADS"] == "" {
		// With one thread per core in each of many processes they run slower than with
		// one thread each.
		out = append(out, set("OMP_NUM_THREADS", max(1, n.CPUs/n.processes())))
	}
	return out
}

// processes is the number of processes that start here, of all kinds.
func (n Node) processes() int {
	if n.Gang == nil {
		return n.Local
	}
	return n.Gang.local()
}

// NeedsSrun reports whether the caller is on one of several nodes of a job and was not
// started by srun, so that the other nodes would stay idle.
func NeedsSrun(env []string) bool {
	vars := supervise.Vars(env)
	n, err := strconv.Atoi(vars["SLURM_NNODES"])
	return err == nil && n > 1 && !underSrun(vars)
}
