package wire

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Version is the version of the protocol.
const Version = 1

// Bounds of the lines of a request and of an answer, in bytes.
const (
	MaxRequest = 64 << 10
	MaxAnswer  = 16 << 20
)

// IDDigits is the length of a job's ID, in lower-case hexadecimal digits.
const IDDigits = 32

// IsID reports whether a word has the form of a job's ID.
func IsID(word string) bool {
	return len(word) == IDDigits && strings.Trim(word, "0123456789abcdef") == ""
}

// MaxFiles bounds the files and folders of a job's code. A tar of them may have FileRoom bytes beside the contents of each.
const (
	MaxFiles = 10_000
	FileRoom = 4 << 10
)

// Verb says what a request asks for.
type Verb string

// The verbs.
const (
	Add     Verb = "add"     // Set -> Set
	List    Verb = "list"    // -> Sets that the caller owns or may read
	Show    Verb = "show"    // Name -> Set; for its owner also Uses
	Grant   Verb = "grant"   // Name, Readers -> Set
	Revoke  Verb = "revoke"  // Name, Readers -> Set
	Audit   Verb = "audit"   // Name -> Lines, Whole, Size raw bytes: the lines
	Submit  Verb = "submit"  // Data, Options, Script, ScriptSize, BundleSize, Task, raw bytes -> ID, JobID
	Jobs    Verb = "jobs"    // -> Jobs of the caller
	Logs    Verb = "logs"    // Job, From -> Next, Ended, Size raw bytes
	Results Verb = "results" // Job, File -> Files, Size raw bytes: a tar of released files
	Cancel  Verb = "cancel"  // Job
	Review  Verb = "review"  // Name -> Kept; Job, File, Order, Digest to decide; Job, File -> Files, Size raw bytes: a tar of that file
)

// The values of Request.Order.
const (
	Allow  = "allow"
	Refuse = "refuse"
)

// Request is the line of a request.
type Request struct {
	Version int  `json:"version"`
	Do      Verb `json:"do"`
	// Set is the data set to add.
	Set *Set `json:"set,omitempty"`
	// Name is a data set.
	Name string `json:"name,omitempty"`
	// Readers are users, and groups as @GROUP.
	Readers []string `json:"readers,omitempty"`
	// Data are the data sets of a submission.
	Data []string `json:"data,omitempty"`
	// Options are those of sluice submit as typed, without the script; Script is the name of the script,
	// Arguments are what follows it on the command line.
	Options   []string `json:"options,omitempty"`
	Script    string   `json:"script,omitempty"`
	Arguments []string `json:"arguments,omitempty"`
	// ScriptSize and BundleSize are the bytes that follow the line: the script, then the bundle, a tar.
	ScriptSize int64 `json:"script_size,omitempty"`
	BundleSize int64 `json:"bundle_size,omitempty"`
	// Task makes a submission one task of the job array in its options.
	Task *Task `json:"task,omitempty"`
	// Job is a confined job: its ID of 32 hexadecimal digits, or Slurm's number.
	Job string `json:"job,omitempty"`
	// From is the byte of the released log from which Logs answers. It is not charged again.
	From int64 `json:"from,omitempty"`
	// File is a path below $SLUICE_OUTPUT: the only file of Results ("" = all), or that of Review.
	File string `json:"file,omitempty"`
	// Order is Allow or Refuse in a Review; "" asks for the files kept.
	Order string `json:"order,omitempty"`
	// Digest is the beginning of the SHA-256 of what the Order is about, in hexadecimal; "" = of whatever the file contains.
	Digest string `json:"digest,omitempty"`
}

// Task is a task of an array of confined jobs. All but the first have the script and the code of the first, and no raw
// bytes.
type Task struct {
	Of    string `json:"of,omitempty"` // ID of the job of the first task; "" = this is it
	Index int    `json:"index"`
}

// Answer is the line of an answer.
type Answer struct {
	Version int    `json:"version"`
	Error   *Error `json:"error,omitempty"`

	Set  *Set  `json:"set,omitempty"`
	Sets []Set `json:"sets,omitempty"`
	Uses []Use `json:"uses,omitempty"`
	// Lines is the number of lines of the whole record, all of which Audit verified. Whole: the chain
	// holds. Otherwise Broken is the first line that does not, from 1.
	Lines  int  `json:"lines,omitempty"`
	Whole  bool `json:"whole,omitempty"`
	Broken int  `json:"broken,omitempty"`
	// ID is a confined job, JobID the number that Slurm gave it; Output is what sluice submit said on
	// standard error, such as warnings.
	ID     string `json:"id,omitempty"`
	JobID  int64  `json:"job_id,omitempty"`
	Output string `json:"output,omitempty"`
	Jobs   []Job  `json:"jobs,omitempty"`
	Files  []File `json:"files,omitempty"`
	// More: there are files that are not told of, because the budget does not even hold their names, they cannot be read
	// now, or one request looks at no more. In answers to Jobs and Review: older ones are left out.
	More bool   `json:"more,omitempty"`
	Kept []Kept `json:"kept,omitempty"`
	// Next is the From that continues the log. Ended: the job has ended and all of its log was released that
	// ever will be. Over: the budget, or the site's limit of a log, is used up.
	Next  int64 `json:"next,omitempty"`
	Ended bool  `json:"ended,omitempty"`
	Over  bool  `json:"over,omitempty"`
	// Size is the number of raw bytes that follow the line.
	Size int64 `json:"size,omitempty"`
}

// Set is a data set.
type Set struct {
	Name  string `json:"name"`
	Owner string `json:"owner,omitempty"` // the caller of Add
	Path  string `json:"path,omitempty"`  // absolute; shown to its owner only
	// Readers are users, and groups as @GROUP. They are shown to the owner only.
	Readers []string `json:"readers,omitempty"`
	// Release is the budget as typed: SIZE/job, SIZE/WINDOW of each user.
	Release string `json:"release"`
	// Nodes is a feature of Slurm that the nodes must have; "" = any node.
	Nodes string `json:"nodes,omitempty"`
	// Kinds are the patterns of files that are released without a review; empty = the usual.
	Kinds []string `json:"kinds,omitempty"`
}

// Use is what one user did with a data set.
type Use struct {
	User     string `json:"user"`
	Jobs     int    `json:"jobs"`
	Released int64  `json:"released"` // bytes counted in all
	Window   int64  `json:"window"`   // bytes counted in the present window
	// Open are the jobs that could send bytes over the network of the site, which are in none of these numbers.
	Open int       `json:"open,omitempty"`
	Last time.Time `json:"last"` // of the last submission
}

// Job is a confined job.
type Job struct {
	ID        string    `json:"id"`
	JobID     int64     `json:"job_id,omitempty"` // 0 = not known
	User      string    `json:"user"`
	Data      []string  `json:"data"`
	Script    string    `json:"script"`
	Submitted time.Time `json:"submitted"`
	State     string    `json:"state"`    // submitted, started, refused, ended
	Released  int64     `json:"released"` // bytes counted, with what is reserved for numbers
	Kept      int       `json:"kept"`     // files that wait for a review
}

// Values of Job.State.
const (
	StateSubmitted = "submitted" // whether Slurm has it is not known
	StateStarted   = "started"   // Slurm has it
	StateRefused   = "refused"   // it was never submitted to Slurm
	StateEnded     = "ended"
)

// File is a file below $SLUICE_OUTPUT.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	Digest string `json:"digest,omitempty"` // SHA-256, in hexadecimal
	State  string `json:"state"`            // released, kept, refused, over
	// Changed: the file has other content since it left. A file leaves once.
	Changed bool `json:"changed,omitempty"`
}

// Values of File.State.
const (
	FileReleased = "released"
	FileKept     = "kept"    // it waits for the owner's review
	FileRefused  = "refused" // the owner refused it, or it is no plain file
	FileOver     = "over"    // it does not fit into the budget
)

// Kept is a file that waits for a review.
type Kept struct {
	Job    string `json:"job"` // ID
	User   string `json:"user"`
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	Digest string `json:"digest"`
}

// ReadRequest reads the line of a request. The error is an *Error with BadRequest, or that of
// reading.
func ReadRequest(from *bufio.Reader) (Request, error) {
	var q Request
	line, err := ReadLine(from, MaxRequest)
	if errors.Is(err, ErrLong) {
		return q, Fail(BadRequest, "", "the request has a line of more than %d bytes", MaxRequest)
	}
	if err != nil {
		return q, err
	}
	if err := json.Unmarshal(line, &q); err != nil {
		return q, Fail(BadRequest, "", "the request is not a line of JSON: %v", err)
	}
	if q.Version != Version {
		return q, Fail(BadRequest, "install the same release of sluice on both sides", "the request has version %d of the protocol; this sluice-vaultd speaks %d", q.Version, Version)
	}
	if q.ScriptSize < 0 || q.BundleSize < 0 || q.From < 0 {
		return q, Fail(BadRequest, "", "the request has a negative size")
	}
	return q, nil
}

// ErrLong: a line is longer than allowed.
var ErrLong = errors.New("the line is too long")

// ReadLine reads a line of at most max bytes, and returns it without its end. A last line
// without an end is io.ErrUnexpectedEOF.
func ReadLine(from *bufio.Reader, max int) ([]byte, error) {
	var line []byte
	for {
		part, err := from.ReadSlice('\n')
		if len(line)+len(part) > max {
			return nil, fmt.Errorf("%w: more than %d bytes", ErrLong, max)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}
