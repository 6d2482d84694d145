package ranks

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKilledNode: what is killed on one node tells nobody, and the others end all the
// same, whichever it is.
func TestKilledNode(t *testing.T) {
	for _, victim := range []int{0, 2} {
		dir := t.TempDir()
		var nodes []*node
		for id := range 3 {
			nodes = append(nodes, begin(t, fmt.Sprintf(`echo > %s/ready.$RANK; while :; do sleep 0.01; done`, dir), step(dir, id, 1, 1, 1)...))
		}
		eventually(t, "all have begun", func() bool {
			ready, _ := filepath.Glob(dir + "/ready.*")
			return len(ready) == 3
		})
		time.Sleep(200 * time.Millisecond) // the connections are made beside
		nodes[victim].Process.Signal(syscall.SIGKILL)
		for id, n := range nodes {
			if id == victim {
				continue
			}
			n.exits(t, 137)
			want := fmt.Sprintf("what ran on node gpu%d was killed", victim+1)
			if said := n.errs.String(); id == 0 && !strings.Contains(said, want) ||
				!strings.Contains(said, fmt.Sprintf("node gpu%d", victim+1)) {
				t.Errorf("node %d says %q", id, said)
			}
		}
		if f, failed := FirstFailure(dir); !failed || f.Node != fmt.Sprintf("gpu%d", victim+1) || f.Rank != victim || f.Code != 137 || f.Signal != "KILL" {
			t.Errorf("told: %+v, %t", f, failed)
		}
	}
}

// TestNodesEndInTheirTime: a node that ends before the others with a farewell is not
// counted as killed.
func TestNodesEndInTheirTime(t *testing.T) {
	for _, last := range []string{"0", "1"} {
		dir := t.TempDir()
		script := `[ $RANK = ` + last + ` ] && sleep 1.5; exit 0`
		a, b := begin(t, script, step(dir, 0, 1, 1)...), begin(t, script, step(dir, 1, 1, 1)...)
		a.exits(t, 0)
		b.exits(t, 0)
		if said := a.errs.String() + b.errs.String(); said != "" {
			t.Errorf("says %q", said)
		}
	}
}

// TestStrangersOnTheLine: whoever knows neither folder nor meeting is not heard, and
// a broken connection means nothing.
func TestStrangersOnTheLine(t *testing.T) {
	n := Node{Nodes: 3, Meeting: "0.0", JobDir: "/jobs/secret"}
	p := newParty(n.Nodes)
	defer p.part()
	address := fmt.Sprint("127.0.0.1:", p.host(n))
	dial := func(words string) net.Conn {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, words)
		return conn
	}
	for _, words := range []string{"", "\n", " \n", "x", "secret 0.0 0\n", "secret 0.0 3\n", "secret 0.0 -1\n", "secret 0.1 1\n", "guess 0.0 1\n",
		"secret 0.0 01\n", "secret 0.0 1\nbye\n", "secret 0.0 1\nx", strings.Repeat("secret ", 200) + "\n", "GET / HTTP/1.1\r\n\r\n"} {
		dial(words).Close()
	}
	torn := dial("secret 0.0 1\n")
	torn.(*net.TCPConn).SetLinger(0) // closed with a reset, as by a host that forgot it
	time.Sleep(50 * time.Millisecond)
	torn.Close()
	time.Sleep(100 * time.Millisecond)
	select {
	case id := <-p.gone:
		t.Errorf("node %d was missed", id)
	default:
	}
}

// TestCrowdOnTheLine: a connection without a free place, or one that is too slow, is
// closed with a farewell, so that it does not count node 0 as killed; an accepted one
// stays open.
func TestCrowdOnTheLine(t *testing.T) {
	n := Node{Nodes: 2, Meeting: "0.0", JobDir: "/jobs/secret"}
	p := newParty(n.Nodes)
	defer p.part()
	address := fmt.Sprint("127.0.0.1:", p.host(n))
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	there := dial()
	io.WriteString(there, "secret 0.0 1\n")
	var silent []net.Conn
	for range 100 {
		silent = append(silent, dial())
	}
	for _, conn := range silent {
		if said, _ := io.ReadAll(conn); string(said) != farewell {
			t.Fatalf("sent off with %q", said)
		}
	}
	there.Close()
	select {
	case id := <-p.gone:
		if id != 1 {
			t.Errorf("node %d was missed", id)
		}
	case <-time.After(time.Minute):
		t.Error("nobody was missed")
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not: %s", what)
		}
	}
}
