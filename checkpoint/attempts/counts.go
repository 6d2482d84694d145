package attempts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Prefix and Suffix are around the name of a node in the name of its file of counts, in the job's folder in the vault.
const (
	Prefix = "attempts."
	Suffix = ".json"
)

// MaxFile bounds a file of counts, in bytes.
const MaxFile = 1 << 20

// Bounds of the rows: a program that makes many calls, or gives itself many names, hides no call by that.
const (
	maxCalls     = 100 // distinct calls
	maxProcesses = 4   // distinct names of processes of a call; of others the name is ""
	maxName      = 15  // characters of a name
	others       = "other calls"
)

// Row is how often processes of one name made one call.
type Row struct {
	Call    string `json:"call"`
	Process string `json:"process,omitempty"` // as the kernel names it; "" = several, or not known
	Count   int64  `json:"count"`
	First   int64  `json:"first"` // in Unix seconds
	Last    int64  `json:"last"`
}

// Why says why calls were not counted.
type Why string

// The reasons. "" = they were counted.
const (
	OldKernel Why = "the kernel does not tell of denied calls" // since Linux 5.0 it does
	Refused   Why = "the kernel refused a listener"
	Lost      Why = "a count cannot be read"
)

// Counts are the denied calls of a job on one node. It is a value; the zero Counts has none.
type Counts struct {
	Version   int   `json:"version"`
	Rows      []Row `json:"rows"` // in the order in which they began
	Uncounted Why   `json:"uncounted,omitempty"`
}

// version of a file of counts.
const version = 1

// Add counts n calls.
func (c *Counts) Add(call, process string, n int64, first, last time.Time) {
	call, process = c.fits(call, plain(process))
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Call == call && r.Process == process {
			r.Count += min(n, math.MaxInt64-r.Count)
			r.First, r.Last = min(r.First, first.Unix()), max(r.Last, last.Unix())
			return
		}
	}
	c.Rows = append(c.Rows, Row{Call: call, Process: process, Count: n, First: first.Unix(), Last: last.Unix()})
}

// fits returns the row that has room for them.
func (c *Counts) fits(call, process string) (string, string) {
	calls, processes := map[string]bool{}, map[string]bool{}
	for _, r := range c.Rows {
		calls[r.Call] = true
		if r.Call == call && r.Process != "" {
			processes[r.Process] = true
		}
	}
	if !calls[call] && len(calls) >= maxCalls {
		return others, ""
	}
	if !processes[process] && len(processes) >= maxProcesses {
		process = ""
	}
	return call, process
}

// plain is a name without what is no plain character: the program chooses it.
func plain(name string) string {
	name = strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
	return name[:min(len(name), maxName)]
}

// Total is how many calls were denied.
func (c Counts) Total() int64 {
	total := int64(0)
	for _, r := range c.Rows {
		total += min(r.Count, math.MaxInt64-total)
	}
	return total
}

// Merge returns the sum of counts, as of several nodes.
func Merge(all ...Counts) Counts {
	sum := Counts{Version: version}
	for _, c := range all {
		for _, r := range c.Rows {
			sum.Add(r.Call, r.Process, r.Count, time.Unix(r.First, 0), time.Unix(r.Last, 0))
		}
		if sum.Uncounted == "" {
			sum.Uncounted = c.Uncounted
		}
	}
	return sum
}

// ErrCounts: a file of counts cannot be read.
var ErrCounts = errors.New("the count of denied calls cannot be read")

// Parse reads a file of counts. Errors are ErrCounts.
func Parse(data []byte) (Counts, error) {
	var c Counts
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return Counts{}, fmt.Errorf("%w: %v", ErrCounts, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Counts{}, fmt.Errorf("%w: something follows the JSON object", ErrCounts)
	}
	bad := slices.ContainsFunc(c.Rows, func(r Row) bool {
		return r.Count < 1 || r.Call == "" || len(r.Call) > 64 || r.Process != plain(r.Process) || r.First < 0 || r.Last < r.First
	})
	if c.Version != version || bad || len(c.Rows) > (maxCalls+1)*(maxProcesses+1) || len(c.Uncounted) > 100 {
		return Counts{}, fmt.Errorf("%w: it is not what sluice wrote", ErrCounts)
	}
	return c, nil
}

// Data is the file of counts.
func (c Counts) Data() []byte {
	c.Version = version
	data, _ := json.Marshal(c) // numbers and texts: it cannot fail
	return append(data, '\n')
}
