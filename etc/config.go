package etc

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// Config holds all settings of a site. The meaning, unit and range of each field are in
// sluice.toml at the key of the same name.
type Config struct {
	// Own: it belongs to a user's own sluiced ('sluiced --user'). No file sets it.
	Own        bool
	Paths      Paths
	Remote     Remote
	Cycle      Cycle
	Slurm      Slurm
	Policy     Policy
	Partition  map[string]Partition // by name; nil = no partition has a section
	QOS        map[string]QOS       // by name; nil = no QOS has a section
	Shares     map[string]Share     // by account; nil = the site has no shares of its own
	Welfare    Welfare
	Resize     Resize
	Checkpoint Checkpoint
	Users      Users
	Web        Web
	Data       Data
	Health     Health
	Metrics    Metrics
	Notify     Notify
	Log        Log
}

// Paths are file system paths, all absolute.
type Paths struct {
	State, Jobs, Outbox, Socket string
	Sluice                      string // "" = the path of the sluice that submits
}

// Remote is how sluice reaches sluiced from machines without its socket.
type Remote struct {
	Address string // HOST:PORT; "" = not over TCP
	User    string // account or uid that sluiced runs as
	Munge   string // "" = munge's own default
}

// Cycle holds the daemon's periods.
type Cycle struct {
	Period, Transition, Backoff time.Duration
	// Abandon is how long sluiced may be gone before Slurm starts waiting jobs by itself.
	Abandon time.Duration
}

// Slurm is how Slurm is found and queried.
type Slurm struct {
	Bin, Conf  string // "" = Slurm's own default
	Timeout    time.Duration
	Partitions []string // empty = all
}

// Policy is how GPUs are shared, and what a policy may do to jobs.
type Policy struct {
	Name       string
	Preempt    bool
	Overload   float64       // 0 = whenever it helps
	Wait       time.Duration // 0 = no bound
	ShareNodes bool
}

// Resize holds the rules of resizes and their assumed cost.
type Resize struct {
	Grace, MaxGrace, Cooldown time.Duration
	Payback                   float64
	Confirm                   time.Duration
	Moves                     int // 0 = no bound
	DeafAfter                 int
	Save, Drain, Start, Load  time.Duration
}

// Checkpoint is how checkpoints are made and kept, and what happens after a failure.
type Checkpoint struct {
	Keep      int
	Every     string        // auto, off or a duration
	NodeMTBF  time.Duration // mean time between failures of one node
	Retries   string        // auto or a number
	OnTimeout string        // requeue or end
}

// Users holds the rights of users.
type Users struct {
	Operators   []string
	Private     bool
	ShareSpeeds bool
}

// Web is what the site's web program ('sluice-web --site') may do.
type Web struct {
	User string // its account; "" = there is none
	// Act: it may order for users; Operators: operators keep their rights there.
	Act, Operators bool
}

// Health bounds the effect of jobs' reports about unfit GPUs.
type Health struct {
	Exclude time.Duration // 0 = reports have no effect
	PerUser int           // nodes; 0 = no bound
}

// Metrics is where metrics can be read, and what they tell about single users and jobs.
type Metrics struct {
	Listen      string // HOST:PORT or the path of a socket; "" = nowhere
	Users, Jobs bool
}

// Notify is to whom messages are sent.
type Notify struct {
	Exec    []string // a command of the site; empty = none
	Webhook string   // a URL of the site; "" = none
	Secret  string   // the file with the key of webhooks; "" = they are not signed
	Events  []string // what the two above are told
	Mail    bool     // users' mails are sent
	Hosts   []string // of users' webhooks, HOST or HOST:PORT; empty = users have none
	Digest  time.Duration
}

// Log is what is logged and in which format.
type Log struct{ Level, Format string }

// Load reads a file over the defaults; "" reads none. The error contains every mistake in
// the file, each with file, line and column and the allowed values.
func Load(path string) (Config, error) { return LoadOver(Default(), path) }

// LoadOver is Load over other defaults, such as UserDefaults.
func LoadOver(base Config, path string) (Config, error) {
	if path == "" {
		return base, nil
	}
	text, err := readBounded(path, maxFile)
	if err != nil {
		return Config{}, err
	}
	return parse(base, path, text)
}

// maxFile bounds the size of a configuration, in bytes.
const maxFile = 1 << 20

func readBounded(path string, limit int64) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("%s: no such file (unset SLUICE_CONF to use the defaults)", path)
	case err != nil:
		return "", fmt.Errorf("%s: cannot be read: %w", path, err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s: not a file", path)
	case info.Size() > limit:
		return "", fmt.Errorf("%s: %d bytes; a configuration has at most %d", path, info.Size(), limit)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s: cannot be read: %w", path, err)
	}
	return string(raw), nil
}
