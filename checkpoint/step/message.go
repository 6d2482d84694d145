package step

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/checkpoint/tunnel"
)

// start is the first message, from the stand-in: the task of one node.
type start struct {
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
	Node int      `json:"node"`
}

// order is what the stand-in says later: a signal for the task.
type order struct {
	Signal syscall.Signal `json:"signal"`
}

// report is what the other side says: output, or how the task ended.
type report struct {
	Out  []byte        `json:"out,omitempty"`
	Err  []byte        `json:"err,omitempty"`
	Exit *process.Exit `json:"exit,omitempty"`
	Why  string        `json:"why,omitempty"` // the task could not be started
}

// chunk bounds the output in one message, in bytes.
const chunk = 32 << 10

// sender writes messages of several goroutines.
type sender struct {
	mu sync.Mutex
	to *json.Encoder
}

func (s *sender) say(message any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Encode(message)
}

// copyOut sends what a task prints, until it has closed its output.
func (s *sender) copyOut(from io.ReadCloser, wrap func([]byte) report) {
	defer from.Close()
	buffer := make([]byte, chunk)
	for {
		n, err := from.Read(buffer)
		if n > 0 && s.say(wrap(buffer[:n])) != nil || err != nil {
			return
		}
	}
}

// within is how long a fence may take to start its server after the first one has been started.
const within = time.Minute

// reach connects to the server of a node, with a key if it asks for one.
func reach(address string, key *tunnel.Key) (conn net.Conn, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for ctx.Err() == nil {
		if conn, err = (&net.Dialer{Timeout: within / 4}).DialContext(ctx, "tcp", address); err == nil {
			if key == nil {
				return conn, nil
			}
			shaken, err := greet(ctx, conn, *key)
			if err != nil {
				conn.Close()
				return nil, err
			}
			return shaken, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, err
}
