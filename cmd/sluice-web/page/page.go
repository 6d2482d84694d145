package page

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
	"github.com/sluice-hpc/sluice/elastic/sweep/own"
)

// Daemon is what the pages ask of sluiced; *client.Client implements it. Errors are *wire.Error.
type Daemon interface {
	Status(ctx context.Context) (wire.Status, error)
	Report(ctx context.Context) (wire.Report, error)
	Present(ctx context.Context) (wire.Report, error)
	Shares(ctx context.Context) (wire.Shares, error)
	Explain(ctx context.Context, job elastic.JobID) (wire.Explanation, error)
	History(ctx context.Context, job elastic.JobID) (wire.History, error)
	Speeds(ctx context.Context, model string, uid *uint32) (wire.Speeds, error)
	Past(ctx context.Context, q client.PastQuery) (wire.Past, error)
	Forecast(ctx context.Context) (wire.Forecast, error)
	WhatIf(ctx context.Context, change wire.WhatIf) (wire.WhatIfAnswer, error)
	Sweeps(ctx context.Context) (wire.Sweeps, error)
	Sweep(ctx context.Context, number int64, q digest.Query) (wire.SweepTrials, error)
}

// Sweeps are the viewer's own sweeps as the viewer's folders have them; *own.Reader implements it.
type Sweeps interface {
	List(ctx context.Context) ([]own.Summary, error)
	Look(ctx context.Context, number int64, f func(*own.View)) error
}

// Viewer is the user who sees the pages.
type Viewer struct {
	Name string
	UID  uint32
}

// may reports whether the pages may give an order of the viewer, about a job of its own.
func (p *Pages) may(verb string) bool { return p.Orders != nil && p.Orders.Gives(verb) }

// Config is what the pages need. Only Orders, Tool, Sweeps, Live, Log and Life may be nil.
type Config struct {
	Base   string // path before all pages, such as "/sluice"; "" = none
	Viewer func(*http.Request) (Viewer, error)
	Daemon func(Viewer) Daemon
	Orders Orders // nil = the pages give no orders
	// Tool runs sluice and sacct as the viewer; nil = there are no logs, no submission and no replay
	// under another policy: what needs the user's own account.
	Tool Tool
	// Sweeps reads the viewer's own folders; nil = pages of sweeps have what sluiced knows.
	Sweeps Sweeps
	Live   *Hub // tells open pages that something changed; nil = they do not follow
	Now    func() time.Time
	// NoOrders says why there are no orders, and what to do; for pages without Orders.
	NoOrders string
	Log      func(error) // what no user sees
	// Life ends with the pages, and ends what runs beside requests; nil = it does not end.
	Life context.Context
}

// Pages answers requests for all pages.
type Pages struct {
	Config
	mux   *http.ServeMux
	done  results
	tries trials
	sizes sweepSizes
}

// New returns the pages.
func New(c Config) *Pages {
	p := &Pages{Config: c, mux: http.NewServeMux()}
	if p.Life == nil {
		p.Life = context.Background()
	}
	if p.Log == nil {
		p.Log = func(error) {}
	}
	get := func(path string, f func(*visit) (*sheet, error)) { p.mux.HandleFunc("GET "+path, p.show(f)) }
	get("/{$}", p.cluster)
	get("/jobs", p.jobs)
	get("/jobs/{job}", p.job)
	get("/jobs/{job}/log", p.output)
	get("/sweeps", p.sweeps)
	get("/sweeps/{sweep}", p.sweep)
	get("/sweeps/{sweep}/{order}", p.sweepConfirm)
	p.mux.HandleFunc("POST /sweeps/{sweep}/{order}", p.sweepOrder)
	get("/time", p.lanes)
	get("/whatif", p.whatif)
	get("/shares", p.shares)
	get("/replay", p.replay)
	get("/replay/policy", p.trial)
	get("/saved", p.saved)
	get("/submit", p.submitForm)
	get("/done/{id}", p.result)
	p.mux.HandleFunc("POST /order", p.order)
	p.mux.HandleFunc("POST /check", p.show(p.check))
	p.mux.HandleFunc("POST /submit", p.submit)
	p.mux.HandleFunc("POST /replay/policy", p.try)
	p.mux.HandleFunc("GET /live", p.live)
	p.mux.HandleFunc("GET /static/{name}", p.static)
	get("/", missing)
	return p
}

// missing is what a path leads to that is no page's.
func missing(*visit) (*sheet, error) {
	return nil, wire.Fail(wire.NotFound, "", "there is no such page")
}

// ServeHTTP answers one request. A path that is not clean is redirected here: the mux would lead out of
// Base, which it does not know.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, below := strings.CutPrefix(r.URL.Path, p.Base)
	if !below || rest != "" && rest[0] != '/' {
		p.show(missing)(w, r)
		return
	}
	clean := path.Clean("/" + rest)
	if strings.HasSuffix(rest, "/") && clean != "/" {
		clean += "/"
	}
	if clean != rest {
		to := url.URL{Path: p.Base + clean, RawQuery: r.URL.RawQuery}
		http.Redirect(w, r, to.String(), http.StatusPermanentRedirect)
		return
	}
	inner := new(http.Request)
	*inner = *r
	inner.URL = new(url.URL)
	*inner.URL = *r.URL
	inner.URL.Path, inner.URL.RawPath = rest, ""
	p.mux.ServeHTTP(w, inner)
}

// visit is one request with what a page needs.
type visit struct {
	*http.Request
	viewer Viewer
	daemon Daemon
	now    time.Time
}

// sheet is what a page shows: its template, its title and the value for both.
type sheet struct {
	name, title string
	status      int // of the answer; 0 = 200
	view        any
	refresh     bool // it follows what changes
	bare        bool // the body alone, for a part of an open page
}

// frame is what every page has around its sheet.
type frame struct {
	Base, Title, Path string
	Viewer            Viewer
	Now               time.Time
	Orders, Tool      bool
	NoOrders          string
	Cancels           bool // Orders give cancel too
	Refresh           bool
	Status            *wire.Status // nil = sluiced does not answer
	Gone              string       // why it does not
	View              any
}

// within bounds the time for a page.
const within = 50 * time.Second

// visit returns the request of a viewer.
func (p *Pages) visit(r *http.Request) (*visit, error) {
	v, err := p.Viewer(r)
	if err != nil {
		return nil, wire.Fail(wire.Denied, "", "%v", err)
	}
	return &visit{Request: r, viewer: v, daemon: p.Daemon(v), now: p.Now()}, nil
}

// show wraps a page.
func (p *Pages) show(f func(*visit) (*sheet, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), within)
		defer cancel()
		v, err := p.visit(r.WithContext(ctx))
		var s *sheet
		if err == nil {
			s, err = f(v)
		}
		if err != nil {
			s = failed(err)
		}
		p.write(w, r, v, s)
	}
}

// failed is the page of an error.
func failed(err error) *sheet {
	var known *wire.Error
	if !errors.As(err, &known) {
		known = wire.Fail(wire.Internal, "", "%v", err)
	}
	return &sheet{name: "failed", title: "sluice", status: known.Status(), view: known, refresh: known.Code == wire.NoDaemon || known.Code == wire.Unavailable}
}

// write renders a page. It is written at once, so that an error in a template does not leave half
// a page.
func (p *Pages) write(w http.ResponseWriter, r *http.Request, v *visit, s *sheet) {
	f := frame{Base: p.Base, Title: s.title, Path: r.URL.Path, Now: p.Now(), Orders: p.Orders != nil, Tool: p.Tool != nil,
		NoOrders: p.NoOrders, Cancels: p.may("cancel"), Refresh: s.refresh && p.Live != nil, View: s.view}
	if v != nil && !s.bare {
		f.Viewer = v.viewer
		if status, err := v.daemon.Status(v.Context()); err == nil {
			f.Status = &status
		} else {
			f.Gone = err.Error()
		}
	}
	if known, ok := s.view.(*wire.Error); ok && f.Gone == known.Error() {
		f.Gone = "" // once is enough
	}
	name := "layout"
	if s.bare {
		name = "body"
	}
	var b bytes.Buffer
	if err := sheets()[s.name].ExecuteTemplate(&b, name, f); err != nil {
		p.Log(fmt.Errorf("page %s: %w", s.name, err))
		http.Error(w, "sluice web: this page cannot be shown; the log of 'sluice web' says why", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if s.status == 0 {
		s.status = http.StatusOK
	}
	send(w, r, s.status, b.Bytes())
}

// sheets are the templates of all pages, each with the layout.
var sheets = parsed
