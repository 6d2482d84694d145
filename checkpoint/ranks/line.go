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

// A sluice ranks that is killed tells nobody, and what waits elsewhere for processes
// of its node that never came would wait until its own time-out: half an hour in
// PyTorch. So every node keeps a connection to node 0. The kernel closes it, whatever
// ends the process. A connection closed without a farewell is a word and no silence:
// a network that fails closes none, and neither does a node.

const (
	farewell = "bye\n"
	// lineWithin bounds the time to connect, and to say who one is.
	lineWithin = 5 * time.Second
	// maxGreeting is the longest greeting, in bytes.
	maxGreeting = 512
)

// party is this node's end of the connections.
type party struct {
	gone chan int // nodes that went without a farewell

	mu       sync.Mutex
	over     bool
	listener net.Listener // of node 0
	open     map[net.Conn]bool
}

func newParty(nodes int) *party {
	return &party{gone: make(chan int, nodes), open: map[net.Conn]bool{}}
}

// greeting says to node 0 who connects. The folder's name is known to the job's user
// alone.
func (n Node) greeting() string {
	return fmt.Sprintf("%s %s %d\n", filepath.Base(n.JobDir), n.Meeting, n.ID)
}

// host lets the other nodes connect, and returns the port; 0 when they cannot.
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

// maxStrangers is how many connections of nobody known are heard at a time.
const maxStrangers = 16

// enter notes an open connection, unless there are too many or all is over.
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

// goodbye closes a connection so that nobody is missed.
func goodbye(conn net.Conn) {
	_, _ = io.WriteString(conn, farewell) // fits where nothing else was written
	conn.Close()
}

// answer hears who connects to node 0.
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

// join connects to node 0. Where that cannot be done nobody is missed.
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

// watch waits for what a node says last.
func (p *party) watch(conn io.Reader, id int) {
	last, err := io.ReadAll(io.LimitReader(conn, maxGreeting))
	if err == nil && len(last) == 0 {
		p.gone <- id // each node connects once; strangers do not come here
	}
}

// part says farewell to all.
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
