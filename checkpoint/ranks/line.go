package ranks

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A sluice ranks that is killed cannot report its end, and processes of other nodes that
// wait for its processes would wait until their own timeout: 30 minutes in PyTorch. So
// every node keeps a connection to node 0. The kernel closes it, whatever ends the
// process. A connection that is closed without a farewell is evidence, unlike silence:
// neither a network nor a node that fails closes a connection.

const (
	farewell = "bye\n"
	// lineWithin bounds the time to connect and to send the greeting.
	lineWithin = 5 * time.Second
	// maxGreeting is the longest greeting, in bytes.
	maxGreeting = 512
)

// party is this node's end of the connections.
type party struct {
	gone chan int // nodes that were closed without a farewell

	mu       sync.Mutex
	over     bool
	listener net.Listener // of node 0
	open     map[net.Conn]bool
}

func newParty(nodes int) *party {
	return &party{gone: make(chan int, nodes), open: map[net.Conn]bool{}}
}

// greeting identifies the connecting node to node 0. Only the job's user knows the
// folder's name.
func (n Node) greeting() string {
	return fmt.Sprintf("%s %s %d\n", filepath.Base(n.JobDir), n.Meeting, n.ID)
}

// host lets the other nodes connect, and returns the port; 0 if that is not possible.
func (p *party) host(n Node) int {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return 0
	}
	p.listener = l
	go func() { // ends with the listener
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if !p.enter(conn, 2*n.Nodes+maxStrangers) {
				goodbye(conn)
				continue
			}
			go p.answer(conn, n)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// maxStrangers bounds the connections without a valid greeting at a time.
const maxStrangers = 16

// enter registers an open connection, unless there are too many or the step is over.
func (p *party) enter(conn net.Conn, most int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || len(p.open) >= most {
		return false
	}
	p.open[conn] = true
	return true
}

func (p *party) drop(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, conn)
	goodbye(conn)
}

// goodbye closes a connection with a farewell.
func goodbye(conn net.Conn) {
	_, _ = io.WriteString(conn, farewell) // fits if nothing else was written
	conn.Close()
}

// answer reads the greeting of a node that connects to node 0.
func (p *party) answer(conn net.Conn, n Node) {
	defer p.drop(conn)
	slow := time.AfterFunc(lineWithin, func() { goodbye(conn) })
	defer slow.Stop()
	words := bufio.NewReader(io.LimitReader(conn, maxGreeting))
	said, err := words.ReadString('\n')
	if err != nil {
		return
	}
	id, err := strconv.Atoi(said[strings.LastIndexByte(said, ' ')+1 : len(said)-1])
	if err != nil || id < 1 || id >= n.Nodes {
		return
	}
	other := n
	if other.ID = id; said != other.greeting() {
		return
	}
	if slow.Stop() {
		p.watch(words, id)
	}
}

// join connects to node 0. If that is not possible, node 0 does not watch this node.
func (p *party) join(n Node, w World) {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(w.Master, strconv.Itoa(w.Line)), lineWithin)
	if err != nil {
		return
	}
	if !p.enter(conn, 1) {
		goodbye(conn)
		return
	}
	defer p.drop(conn)
	if _, err := io.WriteString(conn, n.greeting()); err == nil {
		p.watch(conn, 0)
	}
}

// watch waits for a node's farewell or the end of its connection.
func (p *party) watch(conn io.Reader, id int) {
	last, err := io.ReadAll(io.LimitReader(conn, maxGreeting))
	if err == nil && len(last) == 0 {
		p.gone <- id // each node connects once; others do not get here
	}
}

// part sends a farewell to all.
func (p *party) part() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.listener != nil {
		p.listener.Close()
	}
	for conn := range p.open {
		goodbye(conn)
	}
}
