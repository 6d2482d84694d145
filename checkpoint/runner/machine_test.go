package runner

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/process"
)

func ask(id string) asked { return asked{checkpoint.Request{ID: id}} }

func good(name string) verified { return verified{name: name, at: time.Unix(1, 0)} }

func bad(name string) verified { return verified{name: name, err: errors.New("torn")} }

func exit(code int) ended { return ended{exit: process.Exit{Code: code}} }

// TestStories walks through whole runs: events, and the phase and effects that
// follow each.
func TestStories(t *testing.T) {
	type scene struct {
		event any
		want  string // phase effects
	}
	started := scene{ready{}, "training [start]"}
	asks := scene{ask("a"), "saving [relay]"}
	seals := scene{sealed{"1"}, "saving [verify]"}
	proves := scene{good("1"), "waiting []"}
	stop := asked{checkpoint.Request{ID: "a", Stop: true}}
	ends := good("1")
	ends.manifest.Ends = true
	hangs := ended{exit: process.Exit{Code: 143}, hung: true}
	for name, story := range map[string][]scene{
		"runs to its end":           {started, {exit(7), "training [quit 7]"}},
		"cannot list":               {{lost{}, "starting [quit 1]"}},
		"stopped while starting":    {{terminated{}, "starting [quit 143]"}},
		"stopped while training":    {started, {terminated{}, "training [forward]"}, {exit(143), "training [quit 143]"}},
		"moved":                     {started, asks, seals, proves, {terminated{}, "waiting [drain quit 143]"}},
		"ended to be moved":         {started, {stop, "saving [relay]"}, seals, {ends, "waiting [settle]"}, {exit(0), "waiting []"}, {terminated{}, "waiting [drain quit 143]"}},
		"ended, given up":           {started, {stop, "saving [relay]"}, seals, {ends, "waiting [settle]"}, {exit(0), "waiting []"}, {withdrawn{}, "starting [unrelay find]"}, started},
		"not to be stopped":         {started, asks, seals, {ends, "waiting []"}},
		"cannot end":                {started, {stop, "saving [relay]"}, seals, proves},
		"asked twice":               {started, asks, asks, seals, {ask("a"), "saving [relay]"}, proves, {ask("a"), "waiting [relay]"}},
		"withdrawn while saving":    {started, asks, {withdrawn{}, "training [unrelay]"}, {exit(0), "training [quit 0]"}},
		"withdrawn while proving":   {started, asks, seals, {withdrawn{}, "training [unrelay]"}, {good("1"), "training []"}},
		"withdrawn while waiting":   {started, asks, seals, proves, {withdrawn{}, "training [unrelay]"}},
		"withdrawn unasked":         {started, {withdrawn{}, "training []"}},
		"exits after its answer":    {started, asks, seals, proves, {exit(0), "waiting []"}, {terminated{}, "waiting [drain quit 143]"}},
		"restarted":                 {started, asks, seals, proves, {exit(1), "waiting []"}, {withdrawn{}, "starting [unrelay find]"}, started},
		"exits while proved":        {started, asks, seals, {exit(0), "saving []"}, proves},
		"exits, last look finds it": {started, asks, {ended{candidate: "1"}, "saving [verify]"}, proves},
		"exits 0 without answer":    {started, asks, {exit(0), "saving [quit 0]"}},
		"exits 1 without answer":    {started, asks, {exit(1), "saving [quit 1]"}},
		"finished while asked":      {started, asks, {ended{complete: true, candidate: "1"}, "saving [quit 0]"}},
		"finished while waiting":    {started, asks, seals, proves, {ended{complete: true}, "waiting [quit 0]"}},
		"torn, then good":           {started, asks, seals, {bad("1"), "saving []"}, {sealed{"2"}, "saving [verify]"}, {good("2"), "waiting []"}},
		"torn and exits 0":          {started, asks, seals, {exit(0), "saving []"}, {bad("1"), "starting [find]"}, {ready{}, "saving [start]"}},
		"torn, then exits 0":        {started, asks, seals, {bad("1"), "saving []"}, {exit(0), "starting [find]"}, {ready{}, "saving [start]"}},
		"torn, told, exits 0":       {started, asks, seals, {bad("1"), "saving []"}, {terminated{}, "saving [forward]"}, {exit(0), "saving [quit 0]"}},
		"torn and exits 3":          {started, asks, seals, {exit(3), "saving []"}, {bad("1"), "saving [quit 3]"}},
		"asked anew while saving":   {started, asks, seals, {ask("b"), "saving [relay]"}, {good("1"), "saving []"}, {sealed{"2"}, "saving [verify]"}, {good("2"), "waiting []"}},
		"asked anew, program ended": {started, asks, seals, proves, {exit(0), "waiting []"}, {ask("b"), "waiting [relay]"}},
		"stopped while saving":      {started, asks, {terminated{}, "saving [forward]"}, {exit(0), "saving [quit 0]"}},
		"stopped, then proved":      {started, asks, seals, {terminated{}, "saving [forward]"}, {good("1"), "waiting [drain quit 143]"}},
		"stopped, ended, proving":   {started, asks, seals, {exit(0), "saving []"}, {terminated{}, "saving [quit 143]"}},
		"fails, is retried":         {started, {exit(1), "starting [find]"}, started, {exit(2), "starting [find]"}, started, {exit(3), "starting [find]"}, {ready{}, "starting [quit 3]"}},
		"fails, comes further, fails": {started, {exit(1), "starting [find]"}, started, {exit(1), "starting [find]"}, started, {exit(1), "starting [find]"}, {ready{newer: true}, "training [start]"},
			{exit(1), "starting [find]"}, started, {exit(1), "starting [find]"}, {ready{}, "starting [quit 1]"}},
		"retried, stopped meanwhile":  {started, {exit(1), "starting [find]"}, {terminated{}, "starting [quit 143]"}},
		"retried, ends well":          {started, {exit(1), "starting [find]"}, started, {exit(0), "training [quit 0]"}},
		"retried, finished":           {started, {ended{exit: process.Exit{Code: 1}, complete: true}, "training [quit 1]"}},
		"retried, told while it ends": {started, {terminated{}, "training [forward]"}, {exit(1), "training [quit 1]"}},
		"retried while asked":         {started, asks, {exit(1), "starting [find]"}, {ready{}, "saving [start]"}, seals, proves},
		"retried, taken back":         {started, asks, {exit(1), "starting [find]"}, {withdrawn{}, "starting [unrelay find]"}, started},
		"retried, torn and exits 3":   {started, asks, seals, {exit(3), "saving []"}, {bad("1"), "starting [find]"}, {ready{}, "saving [start]"}},
		"retried, cannot list":        {started, {exit(1), "starting [find]"}, {lost{}, "starting [quit 1]"}},
		"answered, trained on":        {started, asks, seals, proves, {passed{}, "saving []"}, {sealed{"2"}, "saving [verify]"}, {good("2"), "waiting []"}},
		"trained on, unasked":         {started, {passed{}, "training []"}, asks, {passed{}, "saving []"}, seals, {passed{}, "saving []"}, proves},
		"hangs": {started, {hangs, "starting [find]"}, started, {hangs, "starting [find]"}, started, {exit(3), "starting [find]"}, started,
			{exit(3), "starting [find]"}, started, {exit(3), "starting [find]"}, started, {exit(3), "starting [find]"}, {ready{}, "starting [quit 3]"}},
		"hangs, trains, fails": {started, {hangs, "starting [find]"}, started, {exit(3), "starting [find]"}, {ready{newer: true}, "starting [quit 3]"}},
		"hangs again and again": {started, {hangs, "starting [find]"}, started, {hangs, "starting [find]"}, started, {hangs, "starting [find]"}, {ready{newer: true}, "training [start]"},
			{hangs, "starting [find]"}, started, {hangs, "starting [find]"}, started, {hangs, "starting [find]"}, started, {hangs, "starting [find]"}, started, {hangs, "starting [find]"}, {ready{}, "starting [quit 143]"}},
		"hangs and exits 0":      {started, {ended{hung: true}, "starting [find]"}, started, {exit(0), "training [quit 0]"}},
		"hangs, retried, fails":  {started, {hangs, "starting [find]"}, started, {exit(1), "starting [find]"}, {ready{newer: true}, "training [start]"}, {exit(1), "starting [find]"}, started, {exit(1), "starting [find]"}, {ready{}, "starting [quit 1]"}},
		"hangs, told":            {started, {terminated{}, "training [forward]"}, {hangs, "training [quit 143]"}},
		"hangs while asked":      {started, asks, {hangs, "starting [find]"}, {ready{}, "saving [start]"}, seals, proves},
		"hangs after its answer": {started, asks, seals, proves, {hangs, "waiting []"}, {terminated{}, "waiting [drain quit 143]"}},
		"hangs, finished":        {started, {ended{hung: true, complete: true}, "training [quit 0]"}},
		"an old proof":           {started, asks, {good("9"), "saving []"}},
		"sealed unasked":         {started, {sealed{"1"}, "training []"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := state{phase: checkpoint.Starting}
			if strings.Contains(name, "retried") || strings.Contains(name, "comes further") {
				s.retries = 2
			}
			for i, scene := range story {
				var effects []any
				s, effects = s.step(scene.event)
				if got := fmt.Sprint(s.phase, " ", names(effects)); got != scene.want {
					t.Fatalf("scene %d, %T: %s, want %s", i, scene.event, got, scene.want)
				}
			}
		})
	}
}

func names(effects []any) string {
	out := "["
	for i, e := range effects {
		if i > 0 {
			out += " "
		}
		switch e := e.(type) {
		case quit:
			out += fmt.Sprint("quit ", e.code)
		default:
			out += fmt.Sprintf("%T", e)[len("runner."):]
		}
	}
	return out + "]"
}

func TestAnswerFollowsTheRequest(t *testing.T) {
	s := state{phase: checkpoint.Starting}
	for _, e := range []any{ready{}, ask("a"), sealed{"1"}, good("1"), exit(0), ask("b")} {
		s, _ = s.step(e)
	}
	if s.answer == nil || s.answer.Request != "b" || s.answer.Checkpoint != "1" {
		t.Errorf("answer %+v", s.answer)
	}
}

// TestPromises holds the promises over any sequence of events: no two scripts at
// once, never complete after an answer that stands, no answer without a proof, a
// request is handed on and taken back in pairs, and Waiting ends by a stop.
func TestPromises(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := state{phase: checkpoint.Starting, retries: rapid.IntRange(0, 2).Draw(rt, "retries")}
		running, finding, proving := false, true, ""
		for range rapid.IntRange(1, 60).Draw(rt, "events") {
			event := draw(rt, s, running, finding, proving)
			answered := s.answer != nil && s.answer.Checkpoint != ""
			before := s
			var effects []any
			s, effects = s.step(event)
			switch event.(type) {
			case ended:
				running = false
			case ready:
				finding = false
			case verified:
				proving = ""
			}
			for _, e := range effects {
				switch e := e.(type) {
				case start:
					if running {
						rt.Fatalf("two scripts after %T", event)
					}
					running = true
				case find:
					finding = true
				case verify:
					proving = e.name
				case drain:
					if s.answer == nil || s.answer.Checkpoint == "" {
						rt.Fatal("killed without a proved checkpoint")
					}
				case quit:
					if _, again := event.(ready); again && (s.tried <= s.retries && s.hung <= mostHung || e.code == 0) {
						rt.Fatalf("given up with %d after %d of %d retries", e.code, s.tried, s.retries)
					}
					end, _ := event.(ended)
					if answered && e.code == 0 && !end.complete {
						rt.Fatal("complete although it only saved")
					}
					return
				}
			}
			if s.alive != running {
				rt.Fatalf("alive %v, running %v", s.alive, running)
			}
			if _, ok := event.(verified); !ok && s.phase == checkpoint.Waiting && before.phase != checkpoint.Waiting {
				rt.Fatalf("waits without a proof, after %T", event)
			}
			if s.phase == checkpoint.Waiting && (s.answer == nil || s.request == nil || s.answer.Request != s.request.ID) {
				rt.Fatalf("waits with answer %+v to %+v", s.answer, s.request)
			}
			if s.phase == checkpoint.Training && (s.request != nil || s.answer != nil) {
				rt.Fatal("trains with a request or an answer standing")
			}
			if !running && !finding && proving == "" && s.phase != checkpoint.Waiting {
				rt.Fatalf("nothing runs and nothing is done in %s after %T", s.phase, event)
			}
		}
	})
}

// draw picks an event that can happen.
func draw(rt *rapid.T, s state, running, finding bool, proving string) any {
	can := []any{terminated{}}
	if finding {
		return rapid.SampledFrom(append(can, ready{}, ready{newer: true}, lost{})).Draw(rt, "event")
	}
	can = append(can, ask("a"), ask("b"), withdrawn{}, withdrawn{})
	if running {
		can = append(can, passed{}, sealed{"1"}, sealed{"2"}, sealed{"3"}, exit(0), exit(1),
			ended{complete: true}, ended{candidate: "4"}, ended{hung: true}, ended{hung: true, exit: process.Exit{Code: 143}})
	}
	if proving != "" {
		can = append(can, good(proving), good(proving), bad(proving))
	}
	return rapid.SampledFrom(can).Draw(rt, "event")
}
