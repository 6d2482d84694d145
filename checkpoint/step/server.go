package step

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/checkpoint/supervise"
	"github.com/sluice-hpc/sluice/checkpoint/tunnel"
)

// maxTasks bounds the tasks that run on a node at a time.
const maxTasks = 256

// Serve starts tasks on this node as long as the listener listens: for each that is asked for, it starts program with
// this command line, the connection as descriptor 3 and the file with the key as descriptor 4, where Task MUST be
// called. With a file the other side of a connection must have the key; without one, any that can connect is served.
func Serve(l net.Listener, key *os.File, program string, args ...string) error {
	seats := make(chan struct{}, maxTasks)
	admit := func(conn net.Conn) {
		err := errors.New("too many tasks")
		select {
		case seats <- struct{}{}:
			err = begin(conn.(*net.TCPConn), key, func() { <-seats }, program, args)
		default:
		}
		if err != nil {
			_ = json.NewEncoder(conn).Encode(report{Why: err.Error()})
		}
		conn.Close()
	}
	var d door
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		if key == nil {
			admit(conn)
			continue
		}
		d.enter(conn)
		go func() { // ends when it has answered, after greetWithin, or when it gives way
			if !d.knows(conn, key) {
				conn.Close()
				return
			}
			admit(conn)
		}()
	}
}

// begin starts the process that looks after one task.
func begin(conn *net.TCPConn, key *os.File, ended func(), program string, args []string) error {
	file, err := conn.File()
	if err != nil {
		ended()
		return err
	}
	defer file.Close()
	cmd := exec.Command(program, args...)
	if cmd.ExtraFiles = []*os.File{file}; key != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, key)
	}
	if err := cmd.Start(); err != nil {
		ended()
		return err
	}
	go func() { // ends with the process
		defer ended()
		_ = cmd.Wait() // it has reported what there is to say
	}()
	return nil
}

// Task runs the task that the stand-in at the other end of a connection asks for, and ends all that it started with
// it, or with the connection. The stand-in must have the key of the file, unless that is nil. env is the node's own
// environment.
func Task(connection, key *os.File, env []string) int {
	conn, err := net.FileConn(connection)
	if err != nil {
		return startCode
	}
	connection.Close()
	defer func() { conn.Close() }()
	if key != nil {
		if conn, err = opened(conn, key); err != nil {
			return startCode
		}
	}
	s, err := supervise.Begin(env)
	if err != nil {
		return startCode
	}
	defer s.Close()
	in, out := json.NewDecoder(conn), &sender{to: json.NewEncoder(conn)}
	var what start
	if err := in.Decode(&what); err != nil {
		return startCode
	}
	child, done, err := launch(s.Family, what, env, out)
	if err != nil {
		_ = out.say(report{Why: err.Error(), Exit: &process.Exit{Code: startCode}})
		return startCode
	}
	orders := make(chan syscall.Signal)
	go func() { // ends with the connection
		defer close(orders)
		for {
			var o order
			if in.Decode(&o) != nil {
				return
			}
			orders <- o.Signal
		}
	}()
	for {
		select {
		case signal, is := <-orders:
			if !is { // the stand-in is gone
				s.Family.KillAll(grace)
				return startCode
			}
			Tell(s.Family, child, signal)
		case <-child.Done():
			s.Family.KillAll(grace)
			for range 2 {
				select {
				case <-done:
				case <-time.After(grace): // a process that cannot be ended has the output open
				}
			}
			exit := child.Exit()
			_ = out.say(report{Exit: &exit}) // the stand-in may be gone
			return 0
		}
	}
}

// opened is a connection whose other side has shown that it has the key.
func opened(conn net.Conn, file *os.File) (net.Conn, error) {
	defer file.Close()
	key, err := readKey(file)
	if err != nil {
		return conn, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), greetWithin)
	defer cancel()
	shaken, err := key.Secure(ctx, conn, false)
	if err != nil {
		return conn, err
	}
	return shaken, nil
}

// grace is how long processes that were killed may take to end.
const grace = 3 * time.Second

// startCode is the exit code of a task that could not be started.
const startCode = 127

// launch starts the task; done gets a value for each of its two outputs when all of that is sent.
func launch(family *process.Family, what start, own []string, out *sender) (child *process.Child, done chan struct{}, err error) {
	if err := os.Chdir(what.Dir); err != nil {
		return nil, nil, err
	}
	done = make(chan struct{}, 2)
	command := process.Command{Argv: what.Argv, Env: onNode(what.Env, own, what.Node)}
	var mine []*os.File
	for _, o := range []struct {
		file **os.File
		wrap func([]byte) report
	}{{&command.Stdout, func(b []byte) report { return report{Out: b} }}, {&command.Stderr, func(b []byte) report { return report{Err: b} }}} {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, nil, err
		}
		*o.file, mine = write, append(mine, write)
		go func() { // ends when no process has the output open
			out.copyOut(read, o.wrap)
			done <- struct{}{}
		}()
	}
	child, err = family.Start(command)
	for _, file := range mine {
		file.Close()
	}
	return child, done, err
}

// Tell passes a signal of Slurm's on: one that ends a job to the task, another one to the processes that handle it.
func Tell(family *process.Family, child *process.Child, s syscall.Signal) {
	switch s {
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL:
		_ = child.Signal(s) // it may have ended
	default:
		family.Tell(s)
	}
}

// remote is a task on another node.
type remote struct {
	node int
	conn net.Conn
	out  *sender
}

// ask has a node start its task.
func ask(address string, key *tunnel.Key, what start) (*remote, error) {
	conn, err := reach(address, key)
	if err != nil {
		return nil, err
	}
	r := &remote{node: what.Node, conn: conn, out: &sender{to: json.NewEncoder(conn)}}
	return r, r.out.say(what)
}

// follow passes the task's output on, and returns how it ended.
func (r *remote) follow(stdout, stderr io.Writer) (process.Exit, error) {
	in := json.NewDecoder(r.conn)
	for {
		var said report
		if err := in.Decode(&said); err != nil {
			return process.Exit{Code: 137, Signal: "KILL"}, fmt.Errorf("node %d: the task's end is not known: %w", r.node, err)
		}
		_, _ = stdout.Write(said.Out) // a closed output is the program's own affair
		_, _ = stderr.Write(said.Err)
		switch {
		case said.Why != "":
			return process.Exit{Code: startCode}, fmt.Errorf("node %d: %s", r.node, said.Why)
		case said.Exit != nil:
			return *said.Exit, nil
		}
	}
}
