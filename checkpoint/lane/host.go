package lane

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// host is a process of the user's script that trains trial after trial. It runs under a `sluice run`
// of its own, in a folder of the lane's, which is also where it gets its trials. Each trial has its
// usual runner, with a stand-in (StandIn) in place of the script: it hands the trial's environment
// to the host and ends as the trial does. So nothing that a runner does is different for these trials.
type host struct {
	folder string
	child  *process.Child
	output *os.File
	told   bool // the stand-in knows that the process has ended
	hello  bool // its program answers requests: it said so in one of its trials
}

// Files between a lane, its stand-ins and the program of a host, in the host's folder.
const (
	hosts     = "hosts"      // in the lane's folder for runners: the hosts' folders
	nextFile  = "next.json"  // of the stand-in: the next trial; of the lane: that there is none
	overFile  = "over.json"  // of the lane: a trial that is to end
	diedFile  = "died.json"  // of the lane: the process has ended
	readyFile = "ready.json" // of the program: it wants a trial
	atFile    = "at.json"    // of the program: the trial it trains
)

// next is nextFile.
type next struct {
	Version     int               `json:"version"`
	ID          string            `json:"id"`
	Environment map[string]string `json:"environment,omitempty"`
	Over        bool              `json:"over,omitempty"`
}

// over is overFile.
type over struct {
	Version int    `json:"version"`
	ID      string `json:"id"`
}

// died is diedFile.
type died struct {
	Version int `json:"version"`
	Code    int `json:"code"`
}

// ready is readyFile: the trial of this id is over. "" = the program has just begun.
type ready struct {
	After  string `json:"after"`
	Failed bool   `json:"failed"`
}

// at is atFile.
type at struct {
	ID     string `json:"id"`
	Within bool   `json:"within"` // it can leave the trial and go on with the next one
	Output bool   `json:"output"` // it writes into the trial's output
}

// readJSON reads a small file of the host's; false if there is none, or it cannot be read now.
func readJSON(folder, name string, into any) bool {
	data, err := readIn(folder, name)
	return err == nil && data != nil && json.Unmarshal(data, into) == nil
}

// wanted is the file in the sweep's folder by which a program says that it loops over
// sluice.trials(). From then on its lanes start hosts.
const wanted = "warm"

// hostable reports whether the script may train several trials in one process: no parameter is on
// its command lines, the lane is not one trial's job, and the metric is not looked for in the trial's
// output: below srun or sluice ranks that of a host stays the output of its first trial.
func (l *lane) hostable() bool {
	if l.sweep.OwnJobs || l.metric != nil {
		return false
	}
	for _, u := range sweep.Uses(l.script) {
		if u.Name != "" {
			return false
		}
	}
	return true
}

// warm reports whether trials are trained by a host.
func (l *lane) warm() bool {
	if l.cold || !l.hostable() {
		return false
	}
	_, err := os.Stat(filepath.Join(l.Sweep, wanted))
	return err == nil
}

// alive reports whether the process of the host runs.
func (h *host) alive() bool { return h != nil && !h.child.Ended() }

// started makes sure that there is a host, and returns its folder.
func (t *trial) started() (string, error) {
	if t.host.alive() {
		return t.host.folder, nil
	}
	t.leaveHost()
	var token [16]byte
	rand.Read(token[:]) // never fails
	h := &host{folder: filepath.Join(t.inner, hosts, hex.EncodeToString(token[:]))}
	if err := os.MkdirAll(h.folder, 0o700); err != nil {
		return "", err
	}
	script := filepath.Join(h.folder, checkpoint.Script)
	err := os.WriteFile(script, sweep.Render(t.script, func(string) (string, bool) { return "", false }), 0o700)
	if err != nil {
		return "", err
	}
	// What the program prints while it has no trial, and all that it prints where it cannot tell its
	// trials apart, is in the output of its first one.
	h.output, err = os.OpenFile(filepath.Join(t.folder, sweep.OutputFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return "", err
	}
	argv := append([]string{t.Sluice, "run", "--outbox=" + t.inner, fmt.Sprintf("--trial=%d.1", t.number)}, t.sweep.Run...)
	argv = append(argv, "--retries=0", "--checkpoint-every=off", "--", script)
	env := append(t.environment(nil), "SLUICE_TRIALS="+h.folder, "SLUICE_TRIALS_OUTPUT="+h.output.Name(), "SLUICE_BANNERS=no")
	h.child, err = t.family.Start(process.Command{Argv: append(argv, t.Args...), Env: env, Stdout: h.output, Stderr: h.output})
	if err != nil {
		return "", errors.Join(err, h.output.Close())
	}
	t.host = h
	return h.folder, nil
}

// standIn writes the script of a trial that a host trains.
func standIn(folder string) []byte {
	return fmt.Appendf(nil, "#!/bin/sh\nexec \"$SLUICE\" lane --stand-in='%s'\n", strings.ReplaceAll(folder, "'", `'\''`))
}

// hosted tells the stand-in that the process which trained the trial has ended.
func (t *trial) hosted() {
	h := t.host
	if h == nil || h.alive() || h.told {
		return
	}
	code := h.child.Exit().Code
	if err := writeIn(h.folder, diedFile, died{1, code}); err != nil {
		fmt.Fprintf(t.Stderr, "sluice: trial %d: %v\n", t.tell.Trial, err)
		return // tried again at the next look
	}
	h.told = true
}

// untouched reports whether the host ended before it took up the trial: nothing of it has run.
func (t *trial) untouched() bool {
	if t.host == nil || t.host.alive() || t.cold || t.ending || t.ended {
		return false
	}
	var current next
	var where at
	return readJSON(t.host.folder, nextFile, &current) && !current.Over && !(readJSON(t.host.folder, atFile, &where) && where.ID == current.ID)
}

// knows reports whether the trial's program answers requests to save. The program of a host does if it said so
// in any of its trials.
func (t *trial) knows() bool {
	return t.curve.hello || t.adopts() || t.host.alive() && t.host.hello
}

// leave tells the program that its trial is over, and waits until it is ready for another one. False:
// it cannot, or does not in time, and its process is to be ended.
func (t *trial) leave() bool {
	var current next
	var where at
	if !t.host.alive() || t.ended || !readJSON(t.host.folder, nextFile, &current) {
		return false
	}
	if !readJSON(t.host.folder, atFile, &where) || where.ID != current.ID || !where.Within {
		return false
	}
	if err := writeIn(t.host.folder, overFile, over{1, current.ID}); err != nil {
		return false
	}
	for until := t.Now().Add(t.End); t.Now().Before(until) && t.host.alive(); {
		var r ready
		if readJSON(t.host.folder, readyFile, &r) && r.After == current.ID {
			return true
		}
		if t.waitFor(t.Poll/quick, t.child.Done()) {
			return false
		}
	}
	return false
}

// handedBack reports whether the host is through with the last trial that it was handed.
func (t *trial) handedBack() bool {
	var current next
	var r ready
	return !readJSON(t.host.folder, nextFile, &current) || readJSON(t.host.folder, readyFile, &r) && r.After == current.ID
}

// elsewhere notes in the trial's output which file has what the trial prints, if it is another one.
func (t *trial) elsewhere() {
	var where at
	if t.host.alive() && readJSON(t.host.folder, atFile, &where) && !where.Output && t.host.output.Name() != t.output.Name() {
		fmt.Fprintf(t.output, "== sluice: what this trial prints is in %s\n", t.host.output.Name())
	}
}

// rest kills what the trial left running: all but the host, and the program that is asked for points.
func (t *trial) rest() {
	t.family.KillBut(func() []*process.Child {
		var spared []*process.Child
		if t.host != nil {
			spared = append(spared, t.host.child)
		}
		if t.asks != nil {
			spared = append(spared, t.asks.Child())
		}
		return spared
	}, t.End)
}

// endHost ends the process of the host, and kills it if it does not end in time. The processes that it started
// may live longer: rest kills those, since it spares only a host that runs.
func (l *lane) endHost() {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if !l.host.alive() {
			return
		}
		l.host.child.Signal(s)
		select {
		case <-l.host.child.Done():
		case <-time.After(l.End):
		}
	}
}

// leaveHost removes the folder of a host after its process has ended: there is no host then.
func (l *lane) leaveHost() {
	if l.host != nil {
		l.host.output.Close()
		if err := os.RemoveAll(l.host.folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(l.Stderr, "sluice: %v\n", err)
		}
		l.host = nil
	}
}

// dismiss lets the program of the host go on behind its loop over trials, and end.
func (l *lane) dismiss() {
	if !l.host.alive() {
		return
	}
	if err := writeIn(l.host.folder, nextFile, next{Version: 1, ID: rand.Text(), Over: true}); err != nil {
		return
	}
	for until := l.Now().Add(l.End); l.host.alive() && l.Now().Before(until); {
		if l.waitFor(l.Poll/quick, l.host.child.Done()) {
			return
		}
	}
}

// hostWords says why the host's process ended, and whether it was out of memory; "" if that is not known, or if
// the trial's own output has its last lines, from which the trial's runner then takes the reason.
func (t *trial) hostWords() (why string, memory bool) {
	h := t.host
	if h == nil || h.alive() {
		return "", false
	}
	data, err := readIn(h.folder, checkpoint.RunnerFile)
	if err != nil || data == nil {
		return "", false
	}
	word, err := checkpoint.ParseRunner(data)
	if err != nil || word.LastWords == nil {
		return "", false
	}
	var where at
	if readJSON(h.folder, atFile, &where) && where.Output {
		return "", word.LastWords.Memory
	}
	return word.LastWords.Why, word.LastWords.Memory
}
