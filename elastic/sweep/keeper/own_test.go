package keeper

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// ownWorld is the jobs of a sweep whose trials are jobs of their own, and a daemon that may be killed.
type ownWorld struct {
	t      *rapid.T
	plan   Plan
	jobs   []*ownJob
	record []string
	book   *book.Book // nil = the daemon was killed
	read   map[string]int
	serial int
	starts map[string]int // runs begun, by trial.start
	ends   map[int]int    // ends, by trial

	answers, most int // of the program that is asked for points
}

// ownJob is one job: waiting at first.
type ownJob struct {
	token       string
	runs, ended bool
	asks        bool
	ask         sweep.Ask
	lines       []string
	tell        sweep.Tell
	now         *sweep.Tell // the trial that it runs
	epoch       float64
	had         []int // trials that it ran
}

func newOwnWorld(t *rapid.T, p Plan) *ownWorld {
	w := &ownWorld{t: t, plan: p, starts: map[string]int{}, ends: map[int]int{}}
	for i := range p.Sweep.Trials {
		w.jobs = append(w.jobs, &ownJob{token: token(i)})
	}
	return w
}

func (w *ownWorld) look(kill int) {
	if w.book == nil {
		w.book, w.read = book.New(), map[string]int{}
		for _, line := range w.record {
			var e book.Entry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				w.t.Fatal(err)
			}
			w.book.Apply(e)
		}
	}
	seen := Seen{Idle: rapid.Bool().Draw(w.t, "idle")}
	if w.plan.Asks { // a program that answers late, and has fewer points than there are trials
		seen.Points, seen.Turn = map[int]string{}, w.book.Leads.Turn
		w.answers = min(w.answers+rapid.IntRange(0, 2).Draw(w.t, "answers"), w.most)
		for n := 1; n <= w.answers; n++ {
			seen.Points[n] = fmt.Sprintf("lr=0.01,depth=%d", n)
		}
		seen.None = w.answers == w.most
	}
	for i, j := range w.jobs {
		seen.Lanes = append(seen.Lanes, Lane{Token: j.token, Job: int64(i + 1), Gone: j.ended || !j.runs, Ended: j.ended, Asks: j.asks, Ask: j.ask})
		for _, line := range j.lines[w.read[j.token]:] {
			e, err := sweep.ParseEvent([]byte(line))
			if err != nil {
				w.t.Fatal(err)
			}
			w.book.Take(j.token, e)
		}
		w.read[j.token] = len(j.lines)
	}
	w.serial++
	for _, e := range Step(w.book, w.plan, seen, noon.Add(time.Duration(w.serial)*time.Second)) {
		if kill--; kill == 0 {
			w.book = nil
			return
		}
		line, err := json.Marshal(e)
		if err != nil {
			w.t.Fatal(err)
		}
		w.record = append(w.record, string(line))
	}
	for _, j := range w.jobs {
		if tell, ok := w.book.Teller(w.plan.Sweep).Told(j.token, j.ask.ID); j.asks && ok {
			j.tell = tell
		}
	}
}

func (j *ownJob) add(w *ownWorld, e sweep.Event) {
	e.At = noon.Add(time.Duration(w.serial) * time.Second)
	line, err := json.Marshal(e)
	if err != nil {
		w.t.Fatal(err)
	}
	j.lines = append(j.lines, string(line))
}

// step lets a job do one thing.
func (j *ownJob) step(w *ownWorld) {
	w.serial++
	switch {
	case j.ended:
	case !j.runs:
		j.runs, j.now = true, nil
		j.asking(w)
	case j.now == nil && j.tell.Over:
		j.ended = true
	case j.now == nil && j.tell.Trial > 0:
		tell := j.tell
		key := fmt.Sprint(tell.Trial, ".", tell.Start)
		if w.starts[key]++; w.starts[key] > 1 {
			w.t.Fatalf("start %s ran twice", key)
		}
		for _, x := range w.jobs {
			last := slices.Contains(x.had, tell.Trial) && !x.ended && x != j && x.had[len(x.had)-1] == tell.Trial
			if t := w.trial(tell.Trial); last && t != nil && t.State != book.Paused && w.ends[tell.Trial] == 0 && !returned(x, tell.Trial) {
				w.t.Fatalf("trial %d goes on in job %s, and its own job %s is there", tell.Trial, j.token, x.token)
			}
		}
		if !slices.Contains(j.had, tell.Trial) {
			j.had = append(j.had, tell.Trial)
		}
		j.add(w, sweep.Event{Kind: sweep.Began, Trial: tell.Trial, Start: tell.Start, Ask: j.ask.ID, Point: tell.Point, Repeat: tell.Repeat, Extra: tell.Extra})
		j.now, j.epoch = &tell, float64(tell.Start-1)
		if tell.Extra {
			w.t.Fatalf("trial %d lost, and goes on in a job of its own", tell.Trial)
		}
	case j.now == nil:
	case j.tell.Stop:
		j.over(w, sweep.Event{How: sweep.Yielded, Lost: j.tell.Lost})
	case j.epoch >= w.plan.Sweep.Epochs:
		j.over(w, sweep.Event{How: sweep.Done})
	case rapid.IntRange(0, 19).Draw(w.t, "fails") == 0:
		j.over(w, sweep.Event{How: sweep.Failed, Words: "exit code 1", Node: rapid.Bool().Draw(w.t, "node")})
	default:
		j.epoch++
		j.add(w, sweep.Event{Kind: sweep.Reported, Trial: j.now.Trial, Start: j.now.Start, Epoch: j.epoch, Value: float64(j.now.Trial%7)/10 + j.epoch/100})
	}
}

// returned reports whether the job has written that the trial lost: then it may go on anywhere.
func returned(j *ownJob, trial int) bool {
	for _, line := range slices.Backward(j.lines) {
		if e, err := sweep.ParseEvent([]byte(line)); err == nil && e.Kind == sweep.EndedAs && e.Trial == trial {
			return e.Rung > 0
		}
	}
	return false
}

func (w *ownWorld) trial(number int) *book.Trial {
	if w.book == nil {
		return nil
	}
	return w.book.Trial(number)
}

func (j *ownJob) asking(w *ownWorld) {
	w.serial++
	j.asks, j.tell = true, sweep.Tell{}
	j.ask = sweep.Ask{Version: 1, Sweep: w.plan.Sweep.Token, Job: 1, ID: fmt.Sprint("ask", w.serial)}
}

func (j *ownJob) over(w *ownWorld, e sweep.Event) {
	e.Kind, e.Trial, e.Start = sweep.EndedAs, j.now.Trial, j.now.Start
	j.add(w, e)
	j.now = nil
	if e.How == sweep.Done || e.How == sweep.Failed && !e.Node {
		if w.ends[e.Trial]++; w.ends[e.Trial] > 1 {
			w.t.Fatalf("trial %d ended twice", e.Trial)
		}
	}
	j.asking(w)
}

// TestOwnJobs: whenever the daemon or a job is killed, a job is resized or cancelled, no trial is lost and
// none runs twice; a trial whose job is there goes on in it and nowhere else; none that lost goes on
// because GPUs idle; and the sweep comes to its end, whose last job does what is left.
func TestOwnJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		algorithm := rapid.SampledFrom([]string{"asha", "random", "ask", "asha+ask"}).Draw(t, "algorithm")
		repeats := rapid.SampledFrom([]int{0, 0, 2, 3}).Draw(t, "repeats")
		p := planOf(t, func(s *sweep.Sweep) {
			s.Algorithm, s.MaxFailures, s.OwnJobs, s.Trials, s.Epochs = algorithm, 6, true, 6, 4
			if !s.Asks() {
				s.Repeats = repeats
			} else {
				s.Searcher = []string{"search"}
			}
		})
		w := newOwnWorld(t, p)
		w.most = rapid.IntRange(1, 8).Draw(t, "points")
		for range rapid.IntRange(0, 120).Draw(t, "moves") {
			i := rapid.IntRange(0, len(w.jobs)-2).Draw(t, "job") // the last one waits
			j := w.jobs[i]
			switch rapid.IntRange(0, 12).Draw(t, "what") {
			case 0: // its run ends, as for a resize: it waits then; or for good
				if j.now != nil && rapid.Bool().Draw(t, "saves") {
					j.add(w, sweep.Event{Kind: sweep.EndedAs, Trial: j.now.Trial, Start: j.now.Start, How: sweep.Saved})
				}
				if rapid.IntRange(0, 3).Draw(t, "cancelled") == 0 {
					j.ended = true
				}
				j.runs, j.now = false, nil
			case 1:
				w.look(rapid.IntRange(1, 6).Draw(t, "killed after"))
			case 2:
				w.book = nil
			case 3, 4, 5:
				w.look(0)
			default:
				j.step(w)
			}
		}
		for n := 0; w.book == nil || w.book.Over == book.NotOver; n++ {
			if n > 2000 {
				t.Fatalf("the sweep does not end: %d trials, %d run, %d wait", len(w.book.Trials), w.book.Count(book.Running), w.book.Count(book.Waiting))
			}
			w.look(0)
			for _, j := range w.jobs { // one after the other, the last only when no other is there
				if j.step(w); !j.ended {
					break
				}
			}
		}
		for _, trial := range w.book.Trials {
			if trial.State == book.Running || trial.State == book.Waiting || trial.Point == "" {
				t.Fatalf("trial %d: %s, %q", trial.Number, trial.State, trial.Point)
			}
		}
		if w.book.Over == book.AllTried && len(w.book.Trials) != p.Sweep.Trials {
			t.Fatalf("%d trials", len(w.book.Trials))
		}
	})
}

// TestOwnJobEndsWithItsTrial: with a job for each trial, each job runs one and ends; after a resize it has
// its own trial back, whatever other jobs ask; and what a cancelled job leaves is run by the last.
func TestOwnJobEndsWithItsTrial(t *testing.T) {
	p := planOf(t, func(s *sweep.Sweep) { s.Algorithm, s.OwnJobs, s.Trials, s.Parallel = "random", true, 3, 2 })
	b := book.New()
	lanes := make([]Lane, 3)
	for i := range lanes {
		lanes[i] = Lane{Token: token(i), Job: int64(i + 1), Gone: true}
	}
	serial := 0
	ask := func(i int) sweep.Tell {
		t.Helper()
		serial++
		lanes[i].Gone, lanes[i].Asks, lanes[i].Ask = false, true, sweep.Ask{ID: fmt.Sprint("ask", serial)}
		Step(b, p, Seen{Lanes: lanes, Idle: true}, noon)
		tell, ok := b.Teller(p.Sweep).Told(token(i), lanes[i].Ask.ID)
		if !ok {
			t.Fatalf("job %d has no answer", i+1)
		}
		return tell
	}
	end := func(i, trial, start int, how sweep.Ending) {
		b.Take(token(i), sweep.Event{Kind: sweep.EndedAs, Trial: trial, Start: start, How: how})
	}
	if one, two := ask(0), ask(1); one.Trial != 1 || two.Trial != 2 {
		t.Fatalf("the first trials: %+v, %+v", one, two)
	}
	end(0, 1, 1, sweep.Saved)
	lanes[0].Gone = true // it is resized
	end(1, 2, 1, sweep.Done)
	if two := ask(1); !two.Over {
		t.Fatalf("job 2 goes on with %+v after its trial", two)
	}
	lanes[1].Gone, lanes[1].Ended = true, true
	if three := ask(2); three.Trial != 3 {
		t.Fatalf("job 3 runs %+v", three)
	}
	if one := ask(0); one.Trial != 1 || one.Start != 2 {
		t.Fatalf("job 1 after its resize: %+v", one)
	}
	lanes[0].Gone, lanes[0].Ended = true, true // cancelled
	end(2, 3, 1, sweep.Done)
	if three := ask(2); three.Trial != 1 || three.Start != 3 {
		t.Fatalf("what the cancelled job left: %+v", three)
	}
	end(2, 1, 3, sweep.Done)
	if three := ask(2); !three.Over || b.Over != book.AllTried {
		t.Fatalf("at the end: %+v, %q", three, b.Over)
	}
}

// TestOwnJobsLeft: of more jobs than trials the first ones run them; a job that is the only one to come
// does not leave what is left to a job that has a trial of its own; and a trial that lost does not go on.
func TestOwnJobsLeft(t *testing.T) {
	p := planOf(t, func(s *sweep.Sweep) {
		s.Algorithm, s.OwnJobs, s.Trials, s.Parallel, s.Epochs = "asha+sobol", true, 3, 3, 8
	})
	b := book.New()
	tell := func(i int, id string, others ...Lane) sweep.Tell {
		t.Helper()
		lanes := append(others, Lane{Token: token(i), Job: int64(i + 1), Asks: true, Ask: sweep.Ask{ID: id}})
		Step(b, p, Seen{Lanes: lanes, Idle: true}, noon)
		told, ok := b.Teller(p.Sweep).Told(token(i), id)
		if !ok {
			t.Fatalf("%s has no answer", id)
		}
		return told
	}
	waits := func(i int) Lane { return Lane{Token: token(i), Job: int64(i + 1), Gone: true} }
	if one := tell(0, "a", waits(1), waits(2), waits(3)); one.Trial != 1 {
		t.Fatalf("the first of 4 jobs for 3 trials: %+v", one)
	}
	if two := tell(1, "b", waits(2)); two.Trial != 2 {
		t.Fatalf("the second job: %+v", two)
	}
	b.Take(token(0), sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Saved}) // it is resized
	b.Take(token(1), sweep.Event{Kind: sweep.Reported, Trial: 2, Start: 1, Epoch: 1, Value: .9})
	b.Take(token(1), sweep.Event{Kind: sweep.EndedAs, Trial: 2, Start: 1, How: sweep.Done})
	if three := tell(1, "c", waits(0)); three.Trial != 3 {
		t.Fatalf("with no other job to come: %+v", three)
	}
	b.Take(token(1), sweep.Event{Kind: sweep.Reported, Trial: 3, Start: 1, Epoch: 1, Value: .1})
	b.Take(token(1), sweep.Event{Kind: sweep.EndedAs, Trial: 3, Start: 1, How: sweep.Yielded, Lost: sweep.Lost{Rung: 1, Rank: 2, Of: 2}})
	if one := tell(0, "d"); one.Trial != 1 {
		t.Fatalf("after its resize: %+v", one)
	}
	if more := tell(4, "e"); !more.Over || b.Over != book.NotOver {
		t.Fatalf("a job beside the last trial: %+v, %q", more, b.Over)
	}
}

// TestOwnJobsSameSuggestions: jobs of their own and lanes are given the same points.
func TestOwnJobsSameSuggestions(t *testing.T) {
	points := func(own bool) (out []string) {
		p := planOf(t, func(s *sweep.Sweep) { s.Algorithm, s.OwnJobs, s.Trials = "tpe", own, 6 })
		b := book.New()
		for i := range 6 {
			lane := 0
			if own {
				lane = i
			}
			lanes := []Lane{{Token: token(lane), Job: 1, Asks: true, Ask: sweep.Ask{ID: fmt.Sprint("ask", i)}}}
			Step(b, p, Seen{Lanes: lanes}, noon)
			b.Take(token(lane), sweep.Event{Kind: sweep.Reported, Trial: i + 1, Start: 1, Epoch: 9, Value: float64(i*i%5) / 10})
			b.Take(token(lane), sweep.Event{Kind: sweep.EndedAs, Trial: i + 1, Start: 1, How: sweep.Done})
			out = append(out, b.Trial(i+1).Point)
		}
		return out
	}
	if own, lanes := points(true), points(false); !slices.Equal(own, lanes) {
		t.Errorf("%v and %v", own, lanes)
	}
}
