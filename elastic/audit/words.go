package audit

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Share is what a run has of one node.
type Share struct {
	Node string
	GPUs int
	Bits []int // which ones; empty when the record does not say
}

// move is what an open or taken event says of a move.
type move struct {
	kind        string // start, resize, park, revive, clear, save
	target      []Share
	incarnation int
	step        int
	checkpoint  string
}

var (
	openForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(start|resize|park|revive|clear|save) (\S+) -> (\S+), incarnation (\d+)(?:, at R(\d))?(?:, checkpoint (\S+))?(?:$|[:;])`)
	})
	stepForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^R(\d) (.*)$`) })
	runForm  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^run (\d+) of incarnation (\d+) began at (\S+) from (nothing|checkpoint (\d+))(?:; passed over (.*))?$`)
	})
	passedForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(\d+): `) })
	runsOnForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(done|fellback): runs on ([^ ,;]+)`) })
	tokenForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` id=([0-9a-f]{32}) `) })
	writeForm  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^write incarnation (\d+) `) })
)

// parseMove reads the text of an open or a taken event.
func parseMove(text string) (move, bool) {
	m := openForm().FindStringSubmatch(text)
	if m == nil {
		return move{}, false
	}
	target, err := parsePlace(m[3])
	if err != nil {
		return move{}, false
	}
	return move{kind: m[1], target: target, incarnation: number(m[4]), step: number(m[5]), checkpoint: m[6]}, true
}

// parsePlace reads "gpu1:4+gpu2:2"; "-" is nowhere.
func parsePlace(text string) ([]Share, error) {
	if text == "-" || text == "" {
		return nil, nil
	}
	var out []Share
	for _, part := range strings.Split(text, "+") {
		node, count, _ := strings.Cut(part, ":")
		n, err := strconv.Atoi(count)
		if err != nil {
			return nil, err
		}
		out = append(out, Share{Node: node, GPUs: n})
	}
	return out, nil
}

// began is what a run event says: where a run started from.
type began struct {
	restarts, incarnation int
	at                    time.Time // by the clock of its node
	checkpoint            string    // "" = from nothing
	passed                []string
}

func parseRun(text string) (began, bool) {
	m := runForm().FindStringSubmatch(text)
	if m == nil {
		return began{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, m[3])
	if err != nil {
		return began{}, false
	}
	b := began{restarts: number(m[1]), incarnation: number(m[2]), at: at, checkpoint: m[5]}
	for _, p := range passedForm().FindAllStringSubmatch(m[6], -1) {
		b.passed = append(b.passed, p[1])
	}
	return b, true
}

// act is a kind of effect, as sluiced announces it and as Slurm records it.
type act string

const (
	actAsk      act = "ask"
	actWithdraw act = "withdraw"
	actRequeue  act = "requeue"
	actRevive   act = "revive" // of a job that had failed
	actClear    act = "clear"  // of a job that Slurm counts where it no longer runs
	actHold     act = "hold"
	actRelease  act = "release"
	actWrite    act = "write"
	actAnnotate act = "annotate"
	actPass     act = "pass" // of the scheduler, asked for
	actUnknown  act = "unknown"
)

// parseAct reads the text of an act event; the incarnation is that of a write.
func parseAct(text string) (_ act, incarnation int) {
	if m := writeForm().FindStringSubmatch(text); m != nil {
		return actWrite, number(m[1])
	}
	for _, known := range []struct {
		prefix string
		act    act
	}{
		{"ask job ", actAsk}, {"withdraw the request", actWithdraw}, {"requeue and hold job ", actRequeue}, {"bring job ", actRevive}, {"clear job ", actClear},
		{"hold job ", actHold}, {"release job ", actRelease}, {"write pin=", actAnnotate},
		{"ask for a scheduling pass for job ", actPass},
	} {
		if strings.HasPrefix(text, known.prefix) {
			return known.act, 0
		}
	}
	return actUnknown, 0
}

// number reads digits that a pattern has matched; too many are 0.
func number(digits string) int {
	n, err := strconv.ParseInt(digits, 10, 62)
	if err != nil {
		return 0
	}
	return int(n)
}
