package page

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// trialView is the site's history replayed under another policy.
type trialView struct {
	Policy       string
	Since, Until string
	Began        time.Time
	Step         string // what it does now; "" = it has ended
	Wrong        string
	Text         string // what sluice whatif printed
	Command      string
}

// trialWithin bounds a trial.
const trialWithin = 15 * time.Minute

// trials are the trials under way, and the last one of each viewer. There is one at a time: a
// simulation uses a core.
type trials struct {
	mu   sync.Mutex
	busy bool
	last map[string]*trialView
}

// of returns a copy of the viewer's last trial; nil = there is none.
func (t *trials) of(viewer string) *trialView {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v := t.last[viewer]; v != nil {
		c := *v
		return &c
	}
	return nil
}

// begin keeps a trial; false = another one is under way.
func (t *trials) begin(viewer string, v *trialView) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy {
		return false
	}
	if t.last == nil || len(t.last) > maxResults {
		t.last = map[string]*trialView{}
	}
	t.busy, t.last[viewer] = true, v
	return true
}

// change changes a trial that is kept.
func (t *trials) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
}

// policies are those that a history can be replayed under.
var policies = []string{"lookahead", "knapsack", "annealing", "fcfs", "ef", "tiresias", "srpt"}

// try starts a trial: sacct's history to a file, and sluice whatif over it.
func (p *Pages) try(w http.ResponseWriter, r *http.Request) {
	v, err := p.visit(r)
	if err == nil && p.Tool == nil {
		err = wire.Fail(wire.Denied, "type sluice whatif --help on a login node", "these pages run no programs as you")
	}
	if err != nil {
		p.write(w, r, v, failed(err))
		return
	}
	days := min(max(number(r.PostFormValue("days")), 1), 31)
	t := &trialView{Policy: r.PostFormValue("policy"), Began: v.now, Step: "asking Slurm's accounting",
		Since: v.now.Local().AddDate(0, 0, -days).Format("2006-01-02T15:04:05"), Until: v.now.Local().Format("2006-01-02T15:04:05")}
	if !slices.Contains(policies, t.Policy) {
		p.write(w, r, v, failed(wire.Fail(wire.BadRequest, "", "%.20q is not one of %s", t.Policy, strings.Join(policies, ", "))))
		return
	}
	t.Command = command([]string{"whatif", "--policy", t.Policy, "--sacct", "history.txt"})
	if !p.tries.begin(v.viewer.Name, t) {
		p.write(w, r, v, failed(wire.Fail(wire.TooMany, "try again when it has ended", "a replay is under way already")))
		return
	}
	ctx, cancel := context.WithTimeout(p.Life, trialWithin)
	go func() {
		defer cancel()
		text, err := p.run(ctx, t)
		p.tries.change(func() {
			t.Step, t.Text = "", text
			if err != nil {
				t.Wrong = err.Error()
			}
			p.tries.busy = false
		})
	}()
	http.Redirect(w, r, p.Base+"/replay/policy", http.StatusSeeOther)
}

// run carries the trial out and returns what sluice whatif printed.
func (p *Pages) run(ctx context.Context, t *trialView) (string, error) {
	file, err := p.Tool.History(ctx, t.Since, t.Until)
	if err != nil {
		return "", err
	}
	defer os.Remove(file)
	p.tries.change(func() { t.Step = "replaying the history" })
	out, errs, err := p.Tool.Sluice(ctx, "", nil, 256<<10, "whatif", "--policy", t.Policy, "--sacct", file)
	if err != nil {
		if text := strings.TrimSpace(string(errs)); text != "" {
			return "", fmt.Errorf("%s", text)
		}
		return "", err
	}
	return readable(string(out)), nil
}

func (p *Pages) trial(v *visit) (*sheet, error) {
	t := p.tries.of(v.viewer.Name)
	if t == nil {
		return nil, wire.Fail(wire.NotFound, "", "there is no replay under another policy; the page Replay starts one")
	}
	return &sheet{name: "trial", title: "Replay", view: *t, refresh: t.Step != ""}, nil
}
