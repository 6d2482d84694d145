package runner_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/checkpoint/step"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/lab"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// TestFenceOnSiteNetwork: with network = "site" two ranks of a confined job on two nodes find each other at the nodes'
// own addresses and reach what the nodes reach; denied calls are denied and counted as ever. Its srun starts tasks on
// both nodes, and who does not have the key of its servers starts none.
func TestFenceOnSiteNetwork(t *testing.T) {
	l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 2, GPUs: 1})
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer outside.Close()
	heard := make(chan string, 2)
	go func() { // ends with the listener
		for {
			conn, err := outside.Accept()
			if err != nil {
				return
			}
			data := make([]byte, 1)
			conn.Read(data)
			heard <- string(data)
			conn.Close()
		}
	}()
	ping, err := os.ReadFile("testdata/ping.py")
	must(t, err)
	c := newCaged(t, `srun "$SLUICE" ranks -- python3 ping.py 1 20 1 || exit 9
srun -N 2 -- python3 reach.py
say "step ends with $?, ${GLOO_SOCKET_IFNAME-no device}"
await; save 1 "$request"; pause "$request"
exit 77
`, map[string]string{"ping.py": string(ping), "reach.py": fmt.Sprintf(`import os, socket
socket.create_connection(%q.rsplit(":", 1), 10).sendall(os.environ["SLURM_PROCID"].encode())
try:
    socket.socket(40, socket.SOCK_STREAM)  # AF_VSOCK, which knows no network namespace
except OSError:
    pass
`, outside.Addr())})
	c.fence.Network = confine.OfSite
	j := cagedOnSlurm(t, l, c, "--nodes=2", "--ntasks=2", "--gpus-per-node=1")
	c.slowly("both nodes have run a task", func() bool { return strings.Contains(j.story(), "step ends") })
	j.tells("step ends with 0, no device")
	if got := <-heard + <-heard; got != "01" && got != "10" {
		t.Errorf("outside is heard %q", got)
	}
	for i := range 2 {
		var got struct {
			World             int
			Node, Host, Other string
		}
		must(t, json.Unmarshal([]byte(slurp(filepath.Join(j.inner, fmt.Sprintf("ping.%d", i)))), &got))
		if got.World != 2 || got.Node != fmt.Sprintf("gpu%d", i+1) || strings.HasPrefix(got.Host+" "+got.Other, "10.117.") {
			t.Errorf("rank %d: %+v", i, got)
		}
	}
	j.closedToStrangers(c.fence.Output)
	j.save()
	must(t, j.client.Cancel(t.Context(), j.id))
	j.ended(slurm.Cancelled)
	c.countedOnEach(2)
}

// closedToStrangers: only the job's own account reads where the servers of tasks listen, and who has no key starts
// nothing there.
func (j *slurmJob) closedToStrangers(output string) {
	j.Helper()
	name := filepath.Join(j.inner, step.BookFile)
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		j.Fatalf("%s: %v %v", name, info, err)
	}
	var b step.Book
	must(j, json.Unmarshal([]byte(slurp(name)), &b))
	said, err := exec.Command("python3", "-c", `import socket, sys; s = socket.create_connection(sys.argv[1].rsplit(":", 1), 10); s.settimeout(30)
s.sendall(b'{"argv": ["touch", "/output/stranger"], "env": [], "dir": "/", "node": 1}\n')
sys.stdout.buffer.write(s.recv(1000))`, b.Servers[1]).CombinedOutput()
	if strings.HasPrefix(string(said), "{") {
		j.Errorf("a stranger is answered: %q, %v", said, err)
	}
	if _, err := os.Stat(filepath.Join(output, "stranger")); err == nil {
		j.Error("a stranger has started a task")
	}
}
