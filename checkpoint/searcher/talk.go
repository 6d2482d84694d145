package searcher

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

// event is one line to the program.
type event struct {
	Event string          `json:"event"`
	Trial int             `json:"trial,omitempty"`
	Point json.RawMessage `json:"point,omitempty"`
	Epoch *float64        `json:"epoch,omitempty"`
	Value *float64        `json:"value,omitempty"`
	State string          `json:"state,omitempty"`
	Why   string          `json:"why,omitempty"`
	*greeting
}

// greeting is the first line to the program.
type greeting struct {
	Version   int         `json:"version"`
	Sweep     int64       `json:"sweep"`
	Name      string      `json:"name"`
	Metric    string      `json:"metric"`
	Direction string      `json:"direction"` // maximize or minimize
	Seed      uint64      `json:"seed"`
	Trials    int         `json:"trials"`
	Epochs    float64     `json:"epochs,omitempty"`
	Space     []dimension `json:"space"`
	Where     []string    `json:"where,omitempty"`
	Folder    string      `json:"folder"` // of the sweep: the program may keep files there
}

// dimension is a parameter as the program is told of it.
type dimension struct {
	Name    string     `json:"name"`
	Kind    space.Kind `json:"kind"`
	Low     *float64   `json:"low,omitempty"`
	High    *float64   `json:"high,omitempty"`
	Step    float64    `json:"step,omitempty"`
	Choices []any      `json:"choices,omitempty"`
	If      *condition `json:"if,omitempty"`
}

// condition: the parameter exists where another one has one of these values.
type condition struct {
	Name   string `json:"name"`
	Values []any  `json:"values"`
}

// hello greets the program.
func (s *Searcher) hello() event {
	g := &greeting{Version: 1, Sweep: s.Number, Name: s.sweep.Name, Metric: s.sweep.Metric.Name, Direction: "minimize", Seed: s.sweep.Seed,
		Trials: s.sweep.Trials, Epochs: s.sweep.Epochs, Where: s.sweep.Wheres, Folder: s.Sweep}
	if s.sweep.Metric.Max {
		g.Direction = "maximize"
	}
	for _, p := range s.space.Parameters() {
		d := dimension{Name: p.Name, Kind: p.Kind, Step: p.Step}
		if p.Numeric() {
			d.Low, d.High = &p.Low, &p.High
		}
		d.Choices = values(p.Choices)
		if p.If != nil {
			d.If = &condition{p.If.Name, values(p.If.Values)}
		}
		g.Space = append(g.Space, d)
	}
	return event{Event: "hello", greeting: g}
}

// values are texts as they are in a point: numbers, true and false as such.
func values(texts []string) (out []any) {
	for _, text := range texts {
		var point map[string]any
		if json.Unmarshal(sweep.PointJSON([]sweep.Setting{{Name: "x", Text: text}}), &point) == nil {
			out = append(out, point["x"])
		}
	}
	return out
}

// said is a line of the transcript, a report or a point, as the program is told it.
func said(l sweep.Spoken) event {
	if l.Tell != nil {
		return event{Event: "tell", Trial: l.Tell.Trial, Epoch: &l.Tell.Epoch, Value: l.Tell.Value, State: l.Tell.State}
	}
	return event{Event: "point", Trial: l.Point.Trial, Point: bytes.TrimSpace(sweep.PointJSON(sweep.ParsePoint(l.Point.Point)))}
}

// line is one line of the program's output.
type line struct {
	number, at int // from 1; offset of its first byte in the output, from 0
	text       []byte
	err        error // it is too long, or cannot be read
}

// talk is a conversation with the program.
type talk struct {
	child  *process.Child
	in     *os.File
	out    *os.File
	lines  chan line
	done   chan struct{}
	now    func() time.Time
	folder string // with its output
}

// Bounds of a conversation.
const (
	longest = 64 << 10         // bytes of a line of the program
	hearing = 30 * time.Second // in which the program has to read what it is told
	leaving = time.Second      // for its end, once its input has ended
)

// start starts the program. It gets no GPU: the trials have them.
func (s *Searcher) start() (*talk, error) {
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(s.folder, sweep.OutputFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	theirs, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, ours, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirs.Close(), in.Close())
	}
	env := append(append([]string(nil), s.Env...), "CUDA_VISIBLE_DEVICES=", "SLUICE_SWEEP="+strconv.FormatInt(s.Number, 10))
	child, err := s.Family.Start(process.Command{Argv: s.sweep.Searcher, Env: env, Stdin: theirs, Stdout: ours, Stderr: log})
	theirs.Close()
	ours.Close()
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	t := &talk{child: child, in: in, out: out, lines: make(chan line), done: make(chan struct{}), now: s.Now, folder: s.folder}
	go t.listen() // ends with the conversation
	return t, nil
}

// listen reads the program's lines.
func (t *talk) listen() {
	defer close(t.lines)
	r := bufio.NewReaderSize(t.out, longest)
	at := 0
	for number := 1; ; number++ {
		text, err := r.ReadSlice('\n')
		l := line{number: number, at: at, text: bytes.Clone(text)}
		at += len(text)
		if errors.Is(err, bufio.ErrBufferFull) {
			l.err = fmt.Errorf("longer than %d bytes", longest)
		} else if err != nil {
			return
		}
		select {
		case t.lines <- l:
		case <-t.done:
			return
		}
		if l.err != nil {
			return
		}
	}
}

// ending says why the program, which does not answer any more, has ended, or what it did instead.
func (t *talk) ending(instead string) string {
	select {
	case <-t.child.Done():
	case <-time.After(leaving):
		return instead
	}
	why := fmt.Sprintf("it ended with exit code %d", t.child.Exit().Code)
	if data, err := read(t.folder, sweep.OutputFile); err == nil {
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		if last := sweep.Clean(lines[len(lines)-1], 300); last != "" {
			why += ": " + last
		}
	}
	return why
}

// say sends one line.
func (t *talk) say(e event) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := t.in.SetWriteDeadline(t.now().Add(hearing)); err != nil {
		return err
	}
	if _, err := t.in.Write(append(data, '\n')); errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("it has not read what it was told for %v", hearing)
	} else if err != nil {
		return errors.New(t.ending("it closed its standard input"))
	}
	return nil
}

// end ends the program: by the end of its input, then by force.
func (t *talk) end() {
	close(t.done)
	t.in.Close()
	select {
	case <-t.child.Done():
	case <-time.After(leaving):
		t.child.Signal(syscall.SIGTERM)
		select {
		case <-t.child.Done():
		case <-time.After(leaving):
			t.child.Signal(syscall.SIGKILL)
		}
	}
	t.out.Close()
}
