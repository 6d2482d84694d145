package ranks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// Folder is the folder in which nodes meet, in the job's folder:
// <Folder>/<run>.<step>/<node>.
const Folder = "ranks"

// maxNote bounds the size of a note; real ones have some hundred bytes, and six more for
// each task of a gang.
const maxNote = 32 << 10

// note is one node's note to the others.
type note struct {
	Name   string `json:"name"`
	Local  int    `json:"local"`
	Master string `json:"master,omitempty"` // node 0 only
	Port   int    `json:"port,omitempty"`   // node 0 only
	Line   int    `json:"line,omitempty"`   // node 0 only: port for the connections of the other nodes
	Agree  int    `json:"agree,omitempty"`  // node 0 only: port on which rank 0 may accept the ranks' agreements
	// Gang is set if there are several kinds of tasks.
	Gang *gangNote `json:"gang,omitempty"`
}

// Meet tells the other nodes of the step how many processes this one starts, reads the
// same from them, and returns the resulting World. Node 0 chooses the address for the
// training itself. ctx bounds the wait; the error then names the missing nodes.
func (n Node) Meet(ctx context.Context, pause time.Duration) (World, error) {
	own := note{Name: n.Name, Local: n.Local, Gang: n.Gang}
	if n.ID == 0 {
		own.Master, own.Port, own.Line = n.Master, n.port(), n.Line
		own.Agree = n.agreePort(own.Port)
		if own.Master == "" {
			own.Master = "127.0.0.1"
		}
	}
	if n.Meeting == "" {
		gang, err := groups([]note{own}, 0)
		return World{Size: n.Local, Master: own.Master, Port: own.Port, Agree: own.Agree, Gang: gang}, err
	}
	if err := n.leave(strconv.Itoa(n.ID), own); err != nil {
		return World{}, fmt.Errorf("meeting the other nodes: %w", err)
	}
	for {
		notes, missing, err := n.read()
		if err == nil && len(missing) == 0 {
			return n.world(notes)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return World{}, fmt.Errorf("node %s: no sign of node(s) %s of %d in %s: does srun start sluice ranks on every node, and do all see the folder? (%v)",
				n.Name, strings.Join(missing, ","), n.Nodes, n.JobDir, errors.Join(err, ctx.Err()))
		}
	}
}

// port returns the proposed port if it is free, else another.
func (n Node) port() int {
	if n.Port > 0 && Free(n.Port) {
		return n.Port
	}
	port, err := FreePort(n.JobDir + n.Meeting + strconv.Itoa(n.Port))
	if err != nil {
		return n.Port
	}
	return port
}

// agreePort returns a free port for the ranks' agreements, different from the one they
// meet on; 0 if there is none, and the ranks then agree by means of their framework.
func (n Node) agreePort(meeting int) int {
	port, err := FreePort(n.JobDir + n.Meeting + "agree" + strconv.Itoa(n.Port))
	if err != nil || port == meeting {
		return 0
	}
	return port
}

func (n Node) world(notes []note) (World, error) {
	w := World{Master: notes[0].Master, Port: notes[0].Port, Line: notes[0].Line, Agree: notes[0].Agree}
	for id, other := range notes {
		w.Peers = append(w.Peers, Peer{Name: other.Name, First: w.Size})
		if id < n.ID {
			w.First += other.Local
		}
		w.Size += other.Local
	}
	if w.Master == "" || w.Port == 0 {
		return w, errors.New("node 0 named no meeting point")
	}
	var err error
	w.Gang, err = groups(notes, n.ID)
	return w, err
}

// meeting opens the folder of this step's meeting.
func (n Node) meeting() (*checkpoint.Dir, error) {
	job, err := checkpoint.OpenDir(n.JobDir)
	if err != nil {
		return nil, err
	}
	defer job.Close()
	all, err := job.Make(Folder, 0o755)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	if n.Meeting == "" {
		return all.Make(alone, 0o755)
	}
	return all.Make(n.Meeting, 0o755)
}

// leave writes a note for the other nodes.
func (n Node) leave(name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	dir, err := n.meeting()
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Write(name, data, 0o644)
}

// read returns the notes of all nodes in order, and the missing ones. The folder is
// opened again each time, which makes network file systems revalidate it.
func (n Node) read() (notes []note, missing []string, err error) {
	dir, err := n.meeting()
	if err != nil {
		return nil, []string{"all"}, err
	}
	defer dir.Close()
	notes = make([]note, n.Nodes)
	for id := range notes {
		var err error
		if notes[id], err = readNote(dir, id); err != nil {
			missing = append(missing, strconv.Itoa(id))
		}
	}
	return notes, missing, nil
}

// readNote reads the note of one node.
func readNote(dir *checkpoint.Dir, id int) (n note, err error) {
	data, err := dir.Read(strconv.Itoa(id), maxNote)
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	if err == nil && (n.Local < 1 || n.Local > 1024) {
		err = fmt.Errorf("%d processes on node %d", n.Local, id)
	}
	if err == nil && n.Gang != nil && !n.Gang.sound(n.Local) {
		err = fmt.Errorf("node %d: no such gang", id)
	}
	return n, err
}
