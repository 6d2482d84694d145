package ranks

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/checkpoint/supervise"
)

// ofRanks are the variables that make a process a member of the workers' process group.
var ofRanks = []string{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NODE_RANK", "SLUICE_AGREE"}

// noGPUs hides the GPUs. For CUDA and ROCm's run time an empty value means none; HIP
// ignores an empty value, and ends its list at an index that does not exist.
var noGPUs = []string{"CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES=-1"}

// task returns the variables that describe a task of a gang to itself.
func (g Group) task(local int, file string) []string {
	return []string{
		"SLUICE_TASK=" + g.Kind, "SLUICE_TASK_ID=" + strconv.Itoa(g.First+local),
		"SLUICE_TASK_COUNT=" + strconv.Itoa(len(g.Tasks)), "SLUICE_GANG=" + file,
	}
}

// beside is the environment of a task that is no worker.
func (n Node) beside(w World, g Group, local int, file string, env []string) []string {
	out := overlay(env, slices.Concat(n.shared(w, supervise.Vars(env)), noGPUs, g.task(local, file)))
	return slices.DeleteFunc(out, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(ofRanks, name)
	})
}

// address is this node's address for the other nodes: for the first node the one that
// they all use, for the others the one they use towards it. No packet is sent to find it.
func (n Node) address() string {
	if n.Master == "" {
		return "127.0.0.1"
	}
	if n.ID == 0 {
		return n.Master
	}
	conn, err := net.DialTimeout("udp", net.JoinHostPort(n.Master, strconv.Itoa(lowestPort)), lineWithin)
	if err != nil {
		return n.Name
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).IP.String()
}

// gangFile is the file for every task that SLUICE_GANG names.
type gangFile struct {
	Kinds map[string][]Task `json:"kinds"` // in the order of their indices
}

// writeGang writes the file for this node's tasks, each node its own, and returns its path. It
// is in the step's folder; without a job's folder it is a temporary file.
func (n Node) writeGang(all []Group) (path string, err error) {
	kinds := map[string][]Task{}
	for _, g := range all {
		kinds[g.Kind] = g.Tasks
	}
	data, err := json.Marshal(gangFile{kinds})
	if err != nil {
		return "", err
	}
	if n.JobDir == "" {
		return temporary(append(data, '\n'))
	}
	dir, err := n.meeting()
	if err != nil {
		return "", err
	}
	defer dir.Close()
	step := n.Meeting
	if step == "" {
		step = alone // if several steps may run at once
	}
	name := fmt.Sprintf("%s.%d.gang", n.Name, os.Getpid())
	return filepath.Join(n.JobDir, Folder, step, name), dir.Write(name, append(data, '\n'), 0o644)
}

func temporary(data []byte) (path string, err error) {
	f, err := os.CreateTemp("", "sluice-*.gang")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}
