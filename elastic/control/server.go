package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/local"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

// Bounds on one exchange.
const (
	readWithin = 5 * time.Second
	// writeWithin bounds the whole answer, including the time that Slurm takes.
	writeWithin = time.Minute
	stopWithin  = 2 * time.Second
)

// Options configure a Server. Now is required.
type Options struct {
	Operators []string // accounts that may give orders about every user's jobs
	Private   bool     // users see only their own jobs
	UserMode  bool     // only UID and root may connect
	UID       uint32   // the daemon's own account, which is an operator
	// Web is the account of the site's web program, which may ask for other users; "" = there is none.
	// WebActs: it may order for them, too; WebOperators: operators keep their rights there.
	Web                   string
	WebActs, WebOperators bool
	// Service is the service account, for status; "" = there is none.
	Service string
	Now     func() time.Time
	Keeps   time.Duration // how long ended jobs are stored; 0 = not known
	// Account returns the name of an account, "" if it does not exist; nil asks the system. It
	// may be slow: for each account it is called at most once a minute.
	Account func(uid uint32) string
	// UIDOf returns the uid of an account, false if it does not exist; nil asks the system. It is called as
	// rarely as Account.
	UIDOf func(name string) (uint32, bool)

	Version string    // of the program, for status
	Started time.Time // of the daemon, for status
	// Self returns, for status, how many goroutines the daemon has, how many cycles it has
	// begun and how many bytes of memory it uses for good; nil leaves them out.
	Self func() (goroutines int, cycles, live uint64)
	// Speeds returns, for status, how many learned speeds wait to be stored and how many were
	// dropped because too many waited; nil leaves them out.
	Speeds func() (waiting int, dropped uint64)
	// Messages returns, for status, what became of messages; nil leaves it out.
	Messages func() wire.Messages
	// Troubles returns, for status, what only an administrator can repair; empty = nothing.
	Troubles func() []wire.Trouble
	// Log receives errors that are not reported to a client; nil drops them.
	Log func(error)
	// Denied receives every request that was refused because of its caller; nil drops it. It
	// MUST NOT block.
	Denied func(Denial)
}

// Server answers requests on the socket and, after ListenRemote, over TCP.
type Server struct {
	service Service
	socket  *local.Socket
	options atomic.Pointer[Options]
	remote  *remote // nil: not over TCP
	names   names
	uids    uids
	web     atomic.Int64 // uid of the web program, once it has asked for a user; -1 before
	seen    seen         // the last report, encoded
	streams streams
	hours   hours  // GPU-hours for shares
	reports *turns // reports of usage and pages of history: one at a time, and users take turns
	guesses *turns // forecasts of changes, likewise

	orders  buckets[uint32] // expensive requests: orders, plans, speeds, searches for unknown jobs
	reads   buckets[uint32] // all others
	looks   buckets[uint32] // at the trials of sweeps: each goes through all of a sweep's reports
	wakes   buckets[uint32] // for events
	later   delayed         // for events beyond that
	unknown buckets[string] // reports of denials of unknown callers
	missed  tally
}

func newServer(service Service) *Server {
	few := func() buckets[uint32] { return buckets[uint32]{burst: 20, every: 500 * time.Millisecond} }
	s := &Server{service: service, reports: newTurns(1), guesses: newTurns(1), orders: few(), wakes: few(),
		reads:   buckets[uint32]{burst: 200, every: 20 * time.Millisecond},
		looks:   buckets[uint32]{burst: 20, every: 250 * time.Millisecond},
		unknown: buckets[string]{burst: 20, every: 500 * time.Millisecond}}
	s.web.Store(-1)
	return s
}

// Listen makes the socket and returns a server, which answers once Serve is called. It fails
// with local.ErrInUse if a live daemon answers on the path.
func Listen(ctx context.Context, path string, o Options, service Service) (*Server, error) {
	s := newServer(service)
	s.names.account = o.Account
	if err := s.Configure(o); err != nil {
		return nil, err
	}
	var err error
	if s.socket, err = local.Listen(ctx, local.Place{Path: path, Private: o.UserMode, Key: "[paths] socket"}); err != nil {
		return nil, err
	}
	return s, nil
}

// Configure replaces the options for requests that begin after it. UserMode MUST NOT change. It
// fails without Options.Now.
func (s *Server) Configure(o Options) error {
	if o.Now == nil {
		return errors.New("control: Options.Now is required")
	}
	if o.Log == nil {
		o.Log = func(error) {}
	}
	if o.Denied == nil {
		o.Denied = func(Denial) {}
	}
	s.options.Store(&o)
	return nil
}

// Close removes the socket of a server whose Serve is never called.
func (s *Server) Close() error {
	var err error
	if s.remote != nil {
		err = s.remote.listener.Close()
	}
	return errors.Join(err, s.socket.Close())
}

// Serve answers requests until ctx ends, which also ends the contexts of requests under way. It
// then waits up to 2 s for those and removes the socket. It returns nil unless a listener
// failed.
func (s *Server) Serve(ctx context.Context) error {
	defer s.socket.Close()
	handler := s.routes()
	if s.remote == nil {
		return s.serveSocket(ctx, handler)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	far := make(chan error, 1)
	go func() {
		defer cancel() // without one of the two, the daemon stops
		far <- s.remote.serve(ctx, handler)
	}()
	err := s.serveSocket(ctx, handler)
	cancel()
	return errors.Join(err, <-far)
}

// serveSocket answers on the socket until ctx ends. It returns AFTER the shutdown: when the
// requests under way have ended or were cut off.
func (s *Server) serveSocket(ctx context.Context, handler http.Handler) error {
	h := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readWithin,
		ReadTimeout:       readWithin,
		WriteTimeout:      writeWithin,
		MaxHeaderBytes:    wire.MaxHeader,
		ErrorLog:          log.New(logWriter(s.options.Load().Log), "", 0),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, visitKey{}, &c.(*guest).visit)
		},
	}
	h.SetKeepAlivesEnabled(false) // one request per connection, so that a seat is one request
	stopped := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(stopped)
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		if h.Shutdown(patience) != nil {
			h.Close()
		}
	})
	err := h.Serve(newGate(s.socket.UnixListener, func() time.Time { return s.options.Load().Now() }, s.isWeb, s.log))
	if !unhook() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// isWeb reports whether an account is known to be that of the site's web program, which has the
// connections of many users.
func (s *Server) isWeb(uid uint32) bool { return s.web.Load() == int64(uid) }

// log reports an error that no client sees.
func (s *Server) log(err error) { s.options.Load().Log(err) }

// visitKey is the key of a request's *visit in its context.
type visitKey struct{}

// logWriter passes net/http's own messages to Options.Log.
type logWriter func(error)

// Write takes one line.
func (w logWriter) Write(line []byte) (int, error) {
	w(errors.New(string(line)))
	return len(line), nil
}

// request is one request with what a verb needs.
type request struct {
	*http.Request
	options Options
	caller  Caller
	body    []byte
}

// general wraps a verb that is not about a single job.
func (s *Server) general(v verb, costly bool, answer func(request) (any, error)) http.HandlerFunc {
	return s.handle(v, costly, func(q request) (any, error) {
		if err := s.allowed(q, v); err != nil {
			return nil, err
		}
		return answer(q)
	})
}

// allowed refuses a verb that is not about a single job to callers that may not use it.
func (s *Server) allowed(q request, v verb) error {
	if may(v, q.options.standing(q.caller), q.options.Private) {
		return nil
	}
	s.denied(Denial{Caller: q.caller, From: q.caller.Host, Verb: string(v), Why: "only operators may"})
	return wire.Fail(wire.Denied, "only operators may", "%s may not ask for %s", q.caller.Name, v)
}

// onJob wraps a verb about the job named in the path.
func (s *Server) onJob(v verb, costly bool, answer func(request, *publish.Report, publish.JobReport) (any, error)) http.HandlerFunc {
	return s.handle(v, costly, func(q request) (any, error) {
		r, jr, err := s.about(q, v)
		if err != nil {
			return nil, err
		}
		return answer(q, r, jr)
	})
}

// handle identifies the caller, checks its rate and whether it may use this daemon, and sends
// the answer or the error as JSON. Whether the caller may use the verb is checked by general and
// onJob; routes MUST NOT register a verb without one of them unless its answer checks.
func (s *Server) handle(v verb, costly bool, answer func(request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q, who := s.identify(r)
		var err error
		// The whole body is read BEFORE the connection counts as busy: a client that sends its
		// body byte by byte still keeps sluiced waiting.
		if q.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, wire.MaxBody)); err != nil {
			s.sendError(w, q, wire.Fail(wire.BadRequest, "", "request cannot be read: %v", err))
			return
		}
		who.work(true)
		var out any
		if err = s.admit(&q, who, v, costly); err == nil {
			out, err = answer(q)
		}
		who.work(false)
		if err != nil {
			s.sendError(w, q, translate(err))
			return
		}
		send(w, http.StatusOK, out)
	}
}

// identify returns a request with its caller, and what is known of its connection.
func (s *Server) identify(r *http.Request) (request, *visit) {
	who := r.Context().Value(visitKey{}).(*visit)
	q := request{Request: r, options: *s.options.Load(), caller: who.caller}
	q.caller.Name = s.names.of(q.caller.UID, q.options.Now())
	return q, who
}

// admit returns why the request is not served. The rate is checked BEFORE the permission,
// because denials are logged.
func (s *Server) admit(q *request, who *visit, v verb, costly bool) error {
	if who.full != nil {
		return who.full
	}
	if err := s.actFor(q, who, v); err != nil {
		return err
	}
	limit := &s.reads
	if costly {
		limit = &s.orders
	}
	if v != verbEvent && !limit.take(q.caller.UID, q.options.Now()) { // events have their own limit
		return wire.Fail(wire.TooMany, "try again in a few seconds", "%s sends too many requests of this kind", q.caller.Name)
	}
	if !q.options.admits(q.caller) {
		s.denied(Denial{Caller: q.caller, From: q.caller.Host, Verb: string(v), Why: "this is another user's own sluiced"})
		return wire.Fail(wire.Denied, "set SLUICE_CONF, or start your own with 'sluiced --user'",
			"this is the sluiced of %s alone", s.names.of(q.options.UID, q.options.Now()))
	}
	return nil
}

func (s *Server) sendError(w http.ResponseWriter, q request, err *wire.Error) {
	if err.Code == wire.Internal {
		q.options.Log(err)
	}
	send(w, err.Status(), wire.Failed{Error: err})
}

// send writes an answer. A client that has gone is not an error.
func send(w http.ResponseWriter, status int, v any) {
	raw, done := v.(ready)
	var err error
	if !done {
		raw, err = json.Marshal(v)
	}
	if err != nil { // the wire types cannot fail, except for NaN and infinities
		status, raw = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"the answer cannot be written"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(raw))) // lets the client notice a truncated answer
	w.WriteHeader(status)
	_, _ = w.Write(raw)
}

// read decodes a request's body: one JSON value without unknown fields.
func (q request) read(into any) error {
	d := json.NewDecoder(bytes.NewReader(q.body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more than one value")
		}
	}
	if err != nil {
		return wire.Fail(wire.BadRequest, "", "request cannot be read: %v", err)
	}
	return nil
}
