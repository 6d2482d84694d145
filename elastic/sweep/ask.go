package sweep

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// MaxSmall bounds lane.json, trial.json and one line of trials.jsonl, in bytes.
const MaxSmall = 64 << 10

// Ask says that a lane is ready for a trial. Each has a new ID and a new Key: what was told to an
// earlier one, or to an earlier run of the lane, is neither valid nor readable any more.
type Ask struct {
	Version  int       `json:"version"`
	Sweep    string    `json:"sweep"` // its token
	Job      int64     `json:"job"`
	Restarts int       `json:"restarts"` // of the lane's run
	ID       string    `json:"ask"`      // 26 letters and digits
	Key      string    `json:"key"`      // 64 hex digits
	At       time.Time `json:"at"`
	// Leaves: the slot of a lane wants no trial any more. What an earlier ask was answered with and has
	// not begun is handed back.
	Leaves bool `json:"leaves,omitempty"`
}

// NewAsk returns an Ask with a new ID and key. A lane MUST make a new one for each trial, and after
// each start of its own.
func NewAsk(sweep string, job int64, restarts int, now time.Time) Ask {
	var key [32]byte
	rand.Read(key[:]) // never fails
	return Ask{Version: Version, Sweep: sweep, Job: job, Restarts: restarts, ID: rand.Text(), Key: hex.EncodeToString(key[:]), At: now}
}

// ParseAsk reads lane.json. The caller MUST compare Sweep with the sweep it reads for. Job and
// Restarts are the lane's word.
func ParseAsk(data []byte) (Ask, error) {
	var a Ask
	if err := decode(data, &a); err != nil {
		return Ask{}, fmt.Errorf("%s: %w", AskFile, err)
	}
	switch _, err := a.seal(); {
	case a.Version > Version:
		return Ask{}, fmt.Errorf("%s: version %d was written by a newer sluice", AskFile, a.Version)
	case !ValidToken(a.Sweep), !validID(a.ID), a.Job < 1, a.Restarts < 0:
		return Ask{}, fmt.Errorf("%s: not from a lane", AskFile)
	case err != nil:
		return Ask{}, fmt.Errorf("%s: %w", AskFile, err)
	}
	return a, nil
}

// validID is wider than what NewAsk makes: the form may change without a new Version.
func validID(id string) bool {
	if len(id) < 1 || len(id) > 64 {
		return false
	}
	for _, c := range id {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return true
}

// Lost is a rung at which a trial was not good enough; zero = there is none.
type Lost struct {
	Rung int `json:"rung,omitempty"` // in epochs
	Rank int `json:"rank,omitempty"`
	Of   int `json:"of,omitempty"`
}

// Origin is from where a trial of pbt goes on; the zero value is a trial from its start.
type Origin struct {
	From      int `json:"from,omitempty"`       // the trial whose checkpoint it starts from; 0 = none
	FromEpoch int `json:"from_epoch,omitempty"` // of the checkpoint that is meant; the nearest is taken
	Replaces  int `json:"replaces,omitempty"`   // the trial whose place in the population it has; 0 = none
}

// Tell is sluiced's answer to an Ask. It is written again when it changes, for the same Ask: first
// with a trial, later with Stop or more to Drop. A lane MUST look at it until its trial has ended.
// Trial and Over exclude each other.
type Tell struct {
	Trial int    `json:"trial,omitempty"` // from 1; 0 = none
	Start int    `json:"start,omitempty"` // how often the trial was started, with this time
	Point string `json:"point,omitempty"` // its parameters: lr=0.001,depth=4
	// Repeat counts the trials of the same point before it; Extra: it lost, and goes on only
	// because GPUs would idle.
	Repeat int  `json:"repeat,omitempty"`
	Extra  bool `json:"extra,omitempty"`
	Origin
	// Stop ends the trial, once it has saved. If it lost at a rung, Rung is its epochs, and Rank
	// its place among Of.
	Stop bool `json:"stop,omitempty"`
	Lost
	// Over: this lane is not needed any more. End says why the sweep is over; "" = it is not.
	Over bool   `json:"over,omitempty"`
	End  string `json:"end,omitempty"`
	// Drop lists trials whose checkpoints are to be removed, to keep within --keep-gb.
	Drop []int `json:"drop,omitempty"`
}

func (o Origin) valid() bool {
	return o.From >= 0 && o.From <= MaxTrials && o.Replaces >= 0 && o.Replaces <= MaxTrials && o.FromEpoch >= 0 && o.FromEpoch <= MaxRung
}

// sealed is the file of a Tell.
type sealed struct {
	Version int    `json:"version"`
	Ask     string `json:"ask"`
	Sealed  string `json:"sealed"`
}

// seal is AES-256-GCM with the ask's key. An error means that Key is not one.
func (a Ask) seal() (cipher.AEAD, error) {
	key, err := hex.DecodeString(a.Key)
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("key: want 64 hex digits")
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Seal returns trial.json for this Ask. Other users may read the outbox, and parameters are the
// user's own: only the lane that asked, and whoever may read its folder, can open it. The ID is
// authenticated with it, so a Tell cannot be passed off as the answer to another Ask. Each call has
// another nonce: equal Tells give different files.
func (a Ask) Seal(t Tell) ([]byte, error) {
	aead, err := a.seal()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	text = aead.Seal(nil, nil, text, []byte(a.ID))
	return json.Marshal(sealed{Version, a.ID, base64.StdEncoding.EncodeToString(text)})
}

// Open reads trial.json. ok is false if it answers another Ask. That is no error, but the normal
// case right after a lane asked anew. After an error the file is damaged or not sluiced's, and
// nothing of it may be followed.
func (a Ask) Open(data []byte) (t Tell, ok bool, err error) {
	var s sealed
	if err := decode(data, &s); err != nil {
		return Tell{}, false, fmt.Errorf("%s: %w", TellFile, err)
	}
	if s.Version > Version {
		return Tell{}, false, fmt.Errorf("%s: version %d was written by a newer sluiced", TellFile, s.Version)
	}
	if s.Ask != a.ID {
		return Tell{}, false, nil
	}
	aead, err := a.seal()
	if err != nil {
		return Tell{}, false, err
	}
	text, err := base64.StdEncoding.DecodeString(s.Sealed)
	if err == nil {
		text, err = aead.Open(nil, nil, text, []byte(a.ID))
	}
	if err == nil {
		err = decode(text, &t)
	}
	if err == nil && (t.Trial < 0 || t.Trial > MaxTrials || t.Start < 0 || !t.Origin.valid()) {
		err = fmt.Errorf("trial %d", t.Trial)
	}
	if err != nil {
		return Tell{}, false, fmt.Errorf("%s: %w", TellFile, err)
	}
	return t, true, nil
}

// TrialToken is the token of a trial's folder: the same for every lane that runs it. It has the
// form of a job's token (32 lower-case hex digits), and follows from the two numbers alone, so no
// lane has to be told where a trial's checkpoints are.
func TrialToken(sweep string, trial int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", sweep, trial))
	return hex.EncodeToString(sum[:16])
}
