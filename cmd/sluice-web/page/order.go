package page

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// Order is an order about a job, as a verb of the command line.
type Order struct {
	Verb     string // resize, hold, release, cancel, checkpoint, requeue, deadline or sweep
	Job      elastic.JobID
	Sweep    string // of sweep: pause, resume or stop; Job is the sweep's number
	GPUs     string // of resize: a number, or auto
	Deadline string // of deadline: as --deadline of sluice submit takes it, or none
	Soft     bool
}

// Orders gives orders in a viewer's name. An error is why nothing was ordered.
type Orders interface {
	// Gives reports whether orders of a verb can be given at all.
	Gives(verb string) bool
	Give(ctx context.Context, v Viewer, o Order) (said string, err error)
}

// Command is the order as typed: its words after "sluice".
func (o Order) Command() []string {
	words := []string{o.Verb, strconv.FormatInt(int64(o.Job), 10)}
	if o.Verb == "sweep" {
		words = []string{o.Verb, o.Sweep, words[1]}
	}
	switch o.Verb {
	case "resize":
		words = append(words, "--gpus", o.GPUs)
	case "deadline":
		words = append(words, "--at", o.Deadline)
		if o.Soft && o.Deadline != "none" {
			words = append(words, "--mode", "soft")
		}
	}
	return words
}

// Validate reports what is wrong with the order alone.
func (o Order) Validate() error {
	if o.Job < 1 {
		return wire.Fail(wire.BadRequest, "", "an order is about a job")
	}
	switch o.Verb {
	case "hold", "release", "cancel", "checkpoint", "requeue":
		return nil
	case "sweep":
		if !slices.Contains(sweepOrders, o.Sweep) {
			return wire.Fail(wire.BadRequest, "", "%.20q is not an order about a sweep", o.Sweep)
		}
		return nil
	case "resize":
		if n, err := strconv.Atoi(o.GPUs); o.GPUs != "auto" && (err != nil || n < 1) {
			return wire.Fail(wire.BadRequest, "", "%.20q is not a number of GPUs: want a number, or auto", o.GPUs)
		}
		return nil
	case "deadline":
		if o.Deadline == "" || len(o.Deadline) > 64 || o.Deadline[0] == '-' {
			return wire.Fail(wire.BadRequest, "", "%.20q is not a deadline: want now+8hours, 18:00, 2026-11-23T18:00, or none", o.Deadline)
		}
		return nil
	}
	return wire.Fail(wire.BadRequest, "", "%.20q is not an order", o.Verb)
}

// command writes words as a person would type them. They are shown only, and never given to a shell.
func command(words []string) string {
	var b strings.Builder
	b.WriteString("sluice")
	for _, w := range words {
		b.WriteByte(' ')
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\$`*?[]{}()<>|&;#~!") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		b.WriteString(w)
	}
	return b.String()
}

// given is what came of an order, as its page shows it.
type given struct {
	Command string
	Said    string
	Failed  bool
	Job     int64
	Sweep   int64 // of a sweep: its number
}

// orderWithin bounds the time of an order: sluiced waits for Slurm.
const orderWithin = 90 * time.Second

// order gives an order and goes on to the page of its result.
func (p *Pages) order(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), orderWithin)
	defer cancel()
	v, err := p.visit(r.WithContext(ctx))
	if err == nil && p.Orders == nil {
		err = wire.Fail(wire.Denied, p.NoOrders, "this page gives no orders")
	}
	if err != nil {
		p.write(w, r, v, failed(err))
		return
	}
	job, _ := strconv.ParseInt(r.PostFormValue("job"), 10, 64)
	o := Order{Verb: r.PostFormValue("verb"), Job: elastic.JobID(job), GPUs: strings.TrimSpace(r.PostFormValue("gpus")),
		Deadline: strings.TrimSpace(r.PostFormValue("deadline")), Soft: r.PostFormValue("soft") != ""}
	if err := o.Validate(); err != nil {
		p.write(w, r, v, failed(err))
		return
	}
	said, err := p.Orders.Give(ctx, v.viewer, o)
	g := given{Command: command(o.Command()), Said: said, Job: job}
	if err != nil {
		g.Failed, g.Said = true, strings.TrimSpace(said+"\n"+err.Error())
	}
	p.goOn(w, r, v, g)
}

// goOn keeps a result and sends the browser to its page, so that loading it again gives no second
// order.
func (p *Pages) goOn(w http.ResponseWriter, r *http.Request, v *visit, g given) {
	http.Redirect(w, r, p.Base+"/done/"+p.done.keep(v.viewer.Name, g), http.StatusSeeOther)
}

func (p *Pages) result(v *visit) (*sheet, error) {
	g, ok := p.done.find(v.viewer.Name, v.PathValue("id"))
	if !ok {
		return nil, wire.Fail(wire.NotFound, "the job's page shows what is so now", "what came of this order is not kept any more")
	}
	title := "Done"
	if g.Failed {
		title = "Not done"
	}
	return &sheet{name: "done", title: title, view: g}, nil
}

// maxResults bounds the results that are kept.
const maxResults = 64

// results are the last results of orders, each for the viewer who gave it.
type results struct {
	mu   sync.Mutex
	next int
	all  map[string]kept
	ids  []string
}

type kept struct {
	viewer string
	given
}

func (s *results) keep(viewer string, g given) string {
	const most = 64 << 10
	if len(g.Said) > most {
		g.Said = g.Said[:most] + "…"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	id := fmt.Sprint(s.next)
	if s.all == nil {
		s.all = map[string]kept{}
	}
	s.all[id] = kept{viewer, g}
	if s.ids = append(s.ids, id); len(s.ids) > maxResults {
		delete(s.all, s.ids[0])
		s.ids = s.ids[1:]
	}
	return id
}

func (s *results) find(viewer, id string) (given, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.all[id]
	return k.given, ok && k.viewer == viewer
}
