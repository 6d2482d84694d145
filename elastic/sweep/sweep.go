package sweep

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// Version is the version of every file of this package. A reader refuses a higher one. A change
// that an older reader would misunderstand MUST raise it; a new field that it may ignore need not.
const Version = 1

// Names of files and folders.
const (
	File       = "sweep.json"
	AskFile    = "lane.json"
	EventFile  = "trials.jsonl"
	TellFile   = "trial.json"
	LaneFolder = "lanes"
	Trials     = "trials"
	ParamsFile = "params.json"
	OutputFile = "output"
)

// Bounds of a sweep.
const (
	MaxTrials   = 10_000
	MaxParallel = 1000
	MaxFile     = 1 << 20 // bytes of sweep.json
	MaxTexts    = 128     // entries of Params, of Wheres and of Tries
)

// State is what its user wants of a sweep.
type State string

// The states that a user can give a sweep.
const (
	Active  State = ""
	Paused  State = "paused"  // its lanes save their trials and give their GPUs back
	Stopped State = "stopped" // it is over
)

// Metric is the number that a sweep searches by.
type Metric struct {
	Name string `json:"name"`
	Max  bool   `json:"max"` // the larger, the better
}

// Better reports whether x is better than y. Equal values are not, and a NaN never is.
func (m Metric) Better(x, y float64) bool {
	if m.Max {
		return x > y
	}
	return x < y
}

// String is the metric as a user types it.
func (m Metric) String() string {
	if m.Max {
		return m.Name + ":max"
	}
	return m.Name + ":min"
}

// Sweep is what a user submits. The user's programs write it, and sluiced reads it anew at every
// look: what it holds of it MUST be taken from the newest version. Token, Seed, Metric and
// Algorithm MUST stay as submitted, or the trials so far would be those of another search.
type Sweep struct {
	Version   int      `json:"version"`
	Token     string   `json:"token"`            // 32 lower-case hex digits; names the folder
	Number    int64    `json:"number,omitempty"` // the job id of its first lane; 0 = not known yet
	Name      string   `json:"name"`
	Algorithm string   `json:"algorithm"` // see Search
	Seed      uint64   `json:"seed"`
	Metric    Metric   `json:"metric"`
	Goal      *float64 `json:"goal,omitempty"` // it is over once a trial is as good; nil = no goal
	// Trials is how many are begun at most, 1 to MaxTrials; a further start of one does not count.
	Trials   int `json:"trials"`
	Parallel int `json:"parallel"` // lanes at most that run at once, 1 to MaxParallel
	// OwnJobs: each trial is a job of its own, which has as many GPUs as its speed is worth: a lane
	// runs one trial, whatever its size, and ends. At most MaxParallel Trials then.
	OwnJobs bool `json:"own_jobs,omitempty"`
	// PerGPU is how many trials a lane may run at once on its GPUs; 0 = 1. It runs more than one only where
	// that is faster (package sharing).
	PerGPU int `json:"per_gpu,omitempty"`
	// Epochs is the work of a full trial; 0 = not known, so no trial is paused before its end.
	Epochs float64 `json:"epochs,omitempty"`
	// Rungs are the epochs at which asha compares trials, ascending; nil = it chooses them from
	// Epochs. Of Reduction trials one goes on there; 0 = 2.
	Rungs     []int `json:"rungs,omitempty"`
	Reduction int   `json:"reduction,omitempty"`
	// Repeats is how many trials, with seeds of their own, each point has; 0 = 1.
	Repeats int `json:"repeats,omitempty"`
	// Members is the size of pbt's population; 0 = it has none.
	Members int `json:"members,omitempty"`
	// MaxFailures is how many failed trials end the sweep, at least 1.
	MaxFailures int           `json:"max_failures"`
	KeepGB      float64       `json:"keep_gb"`          // in 10^9 bytes, of checkpoints of trials that do not run
	Within      time.Duration `json:"within,omitempty"` // of time since its first trial; 0 = no bound
	// As typed after --param, --where and --try; see package space.
	Params   []string  `json:"params"`
	Wheres   []string  `json:"wheres,omitempty"`
	Tries    []string  `json:"tries,omitempty"`
	Searcher []string  `json:"searcher,omitempty"`     // the program that is asked for points; set if and only if Asks
	Regex    string    `json:"metric_regex,omitempty"` // finds the metric in a trial's output
	Run      []string  `json:"run"`                    // options of `sluice run` for each trial
	State    State     `json:"state,omitempty"`
	Created  time.Time `json:"created"`
}

// Asks reports whether a program of the user's chooses the points.
func (s Sweep) Asks() bool {
	method, _, _ := s.Search()
	return method == "ask"
}

// Usual values of a sweep.
const (
	UsualTrials      = 100
	UsualParallel    = 4
	UsualMaxFailures = 20
	UsualKeepGB      = 100
)

var (
	tokenForm = regexp.MustCompile(`^[0-9a-f]{32}$`)
	nameForm  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./@:-]{0,63}$`)
)

// ValidToken reports whether a text has the form of a token.
func ValidToken(token string) bool { return tokenForm.MatchString(token) }

// Model is the name under which the jobs of a sweep share what is learned of their speed, if its
// user gives none.
func Model(token string) string { return "sweep-" + token[:min(12, len(token))] }

// ParseMetric reads NAME:max or NAME:min. The direction MUST be given: a guess by the name would
// turn a sweep around silently. The last colon counts, since names may contain others.
func ParseMetric(text string) (Metric, error) {
	name, direction, given := text, "", false
	if i := strings.LastIndexByte(text, ':'); i >= 0 && (text[i+1:] == "max" || text[i+1:] == "min") {
		name, direction, given = text[:i], text[i+1:], true
	}
	if !nameForm.MatchString(name) {
		return Metric{}, fmt.Errorf("%q is not a metric's name: want letters, digits and _ . / @ : -, at most 64, the first a letter", name)
	}
	if !given {
		return Metric{}, fmt.Errorf("say whether the metric is to be large or small: %s:max or %s:min", name, name)
	}
	return Metric{name, direction == "max"}, nil
}

// Parse reads sweep.json. Users can change it: what is out of range is an error. Unknown fields are
// ignored, so that a newer client may add some. The caller MUST compare Token with the folder's
// name: a copied file names another sweep.
func Parse(data []byte) (Sweep, error) {
	var s Sweep
	if err := decode(data, &s); err != nil {
		return Sweep{}, fmt.Errorf("%s: %w", File, err)
	}
	if err := s.Validate(); err != nil {
		return Sweep{}, fmt.Errorf("%s: %w", File, err)
	}
	return s, nil
}

// decode reads one JSON value and nothing after it. The error has the offset in bytes, from 1.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("byte %d: %w", d.InputOffset()+1, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("byte %d: text after the value", d.InputOffset()+1)
	}
	return nil
}
