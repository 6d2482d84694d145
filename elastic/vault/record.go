package vault

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// Event is what an Entry records.
type Event string

// The events. The fields that each uses are in parentheses.
const (
	Added     Event = "added"     // a data set (By, Set, Path, Readers, Release, Nodes, Kinds)
	Granted   Event = "granted"   // (By, Set, Readers)
	Revoked   Event = "revoked"   // (By, Set, Readers)
	Denied    Event = "denied"    // a request that was refused because of its caller (By, Do, Set, Job)
	Submitted Event = "submitted" // BEFORE sluice submit runs (By, Job, Sets, Script, Digest, Bundle, Options, Network, Task, Cost: the numbers)
	Started   Event = "started"   // Slurm has it, or has it again after it seemed to have ended (Job, JobID)
	Refused   Event = "refused"   // Slurm certainly never had it (Job)
	Ended     Event = "ended"     // nothing of it runs any more (Job)
	Told      Event = "told"      // the name of a file that does not leave now (Job, File, Size, Digest, State, Cost)
	Released  Event = "released"  // a file, BEFORE it leaves (Job, File, Size, Digest, Cost)
	Changed   Event = "changed"   // that a file has other content since it left (Job, File, Cost)
	Logged    Event = "logged"    // a part of the log, BEFORE it leaves (Job, Size: of it, Raw: bytes read, Cost)
	Reviewed  Event = "reviewed"  // an owner's order (By, Set, Job, File, Digest, State)
	Shown     Event = "shown"     // a file to the owner of all data of its job, BEFORE it is sent (By, Set, Job, File, Digest)
	Cancelled Event = "cancelled" // BEFORE scancel runs (By, Job)
	Attempted Event = "attempted" // calls that the job's fence denied, all so far (By: the job's user, Job, JobID, Attempts, Uncounted)
	Repaired  Event = "repaired"  // a torn last line was cut off (Size: its bytes)
)

// Entry is one line of the record.
type Entry struct {
	N     int64     `json:"n"` // from 1
	Time  time.Time `json:"time"`
	Prev  string    `json:"prev"` // SHA-256 of the line before, without its end; "" in the first
	Event Event     `json:"event"`

	By      string   `json:"by,omitempty"` // user who asked
	Do      string   `json:"do,omitempty"`
	Set     string   `json:"set,omitempty"`
	Path    string   `json:"path,omitempty"`
	Readers []string `json:"readers,omitempty"`
	Release string   `json:"release,omitempty"`
	Nodes   string   `json:"nodes,omitempty"`
	Kinds   []string `json:"kinds,omitempty"`

	Job     string     `json:"job,omitempty"`
	JobID   int64      `json:"job_id,omitempty"`
	Sets    []string   `json:"sets,omitempty"`
	Script  string     `json:"script,omitempty"` // its name
	Bundle  string     `json:"bundle,omitempty"` // SHA-256 of the tar
	Options []string   `json:"options,omitempty"`
	Network string     `json:"network,omitempty"` // as in fence.json
	Task    *wire.Task `json:"task,omitempty"`    // of an array; Of is the job whose script and code it has

	File   string `json:"file,omitempty"`
	Size   int64  `json:"size,omitempty"`
	Raw    int64  `json:"raw,omitempty"`
	Digest string `json:"digest,omitempty"` // SHA-256 of the script, or of the file
	State  string `json:"state,omitempty"`
	Cost   int64  `json:"cost,omitempty"` // bytes that it counts in the budgets

	Attempts  []Attempt `json:"attempts,omitempty"`
	Uncounted string    `json:"uncounted,omitempty"` // why calls, or some of them, were not counted
}

// OfSite is an Entry's Network if that is the network of the site.
const OfSite = "site"

// Open reports whether the programs of a job with this Network could send bytes that are not counted.
func Open(network string) bool { return network == OfSite }

// MaxLine bounds a line of the record, in bytes.
const MaxLine = 1 << 20

// Line is the entry as a line of the record, with its end. It fails if that would be longer than MaxLine.
func (e Entry) Line() ([]byte, error) {
	raw, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	if len(raw) >= MaxLine {
		return nil, fmt.Errorf("an entry of %d bytes for the record; at most %d are taken", len(raw), MaxLine)
	}
	return append(raw, '\n'), nil
}

// Sum is the Prev of the entry after this line, which may have its end.
func Sum(line []byte) string {
	sum := sha256.Sum256(bytes.TrimSuffix(line, []byte("\n")))
	return hex.EncodeToString(sum[:])
}

// ParseEntry reads one line. An unknown field is an error: what this release cannot read it must not
// decide on.
func ParseEntry(line []byte) (Entry, error) {
	var e Entry
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return e, err
	}
	if rest := bytes.TrimSpace(line[dec.InputOffset():]); len(rest) > 0 {
		return e, errors.New("the line has more than one value")
	}
	if e.Cost < 0 || e.Size < 0 || e.Raw < 0 || e.Cost > MaxBytes || e.Size > MaxBytes || e.Raw > MaxBytes {
		return e, errors.New("a number is out of its range")
	}
	return e, nil
}

// BrokenError says where the chain of the record breaks.
type BrokenError struct {
	Line int // from 1
	Why  string
}

// Error returns the line and what is wrong with it.
func (e *BrokenError) Error() string {
	return fmt.Sprintf("line %d of the record: %s; someone changed the record, or the disk is damaged: compare it with a backup", e.Line, e.Why)
}

// Verified is the whole part of a record.
type Verified struct {
	Lines int    // lines that hold
	Last  string // Sum of the last of them; "" without one
	Bytes int64  // their length
	Torn  int64  // bytes of a last line without an end
}

// Verify reads a record, gives each entry that holds to each, with its line, and says what it found. A last
// line without an end is not an error: a crash leaves one. The error is a *BrokenError for the first line that does
// not hold, or that of each or of reading.
func Verify(from io.Reader, each func(Entry, []byte) error) (Verified, error) {
	var v Verified
	lines := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := readLine(lines)
		switch {
		case errors.Is(err, io.EOF):
			v.Torn = int64(len(line))
			return v, nil
		case errors.Is(err, errLong):
			return v, &BrokenError{v.Lines + 1, fmt.Sprintf("longer than %d bytes", MaxLine)}
		case err != nil:
			return v, err
		}
		e, err := ParseEntry(line)
		switch {
		case err != nil:
			return v, &BrokenError{v.Lines + 1, "cannot be read: " + err.Error()}
		case e.N != int64(v.Lines)+1:
			return v, &BrokenError{v.Lines + 1, fmt.Sprintf("has the number %d", e.N)}
		case e.Prev != v.Last:
			return v, &BrokenError{v.Lines + 1, "does not follow from the line before it"}
		}
		if err := each(e, line); err != nil {
			return v, err
		}
		v.Lines, v.Last, v.Bytes = v.Lines+1, Sum(line), v.Bytes+int64(len(line))
	}
}

var errLong = errors.New("too long")

// readLine returns a line with its end; with io.EOF what is left without one.
func readLine(from *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := from.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > MaxLine:
			return nil, errLong
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return line, err
		}
	}
}
