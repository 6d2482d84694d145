package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/feed"
)

// Bounds on streams of events. They do not count as connections: a page that is left open must not
// use up what its user needs for orders.
const (
	streamsOfUser = 8
	streamsInAll  = 256
	// streamPage is how many events are written at once.
	streamPage = 64
)

// Variables for tests.
var (
	// streamWrite is how long a reader may keep sluiced waiting for one write; then it is dropped.
	streamWrite = 10 * time.Second
	// heartbeat is how often a comment is sent while nothing happens, so that both sides notice when
	// the other has gone.
	heartbeat = 15 * time.Second
)

// streams counts the open streams by user.
type streams struct {
	mu  sync.Mutex
	of  map[uint32]int
	all int
}

// enter counts one more stream of the user, or says why there cannot be one.
func (s *streams) enter(uid uint32, most int) (leave func(), full *wire.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.of[uid] >= most:
		return nil, wire.Fail(wire.TooMany, "close one, or wait a moment: a stream that its reader left is closed at once",
			"you have %d streams of events open, the most that one user may", most)
	case s.all >= streamsInAll:
		return nil, wire.Fail(wire.TooMany, "try again in a minute, or read the report again every few seconds",
			"%d streams of events are open, the most that sluiced serves", streamsInAll)
	}
	if s.of == nil {
		s.of = map[uint32]int{}
	}
	s.of[uid]++
	s.all++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.of[uid]--; s.of[uid] <= 0 {
			delete(s.of, uid)
		}
	}, nil
}

// Streams returns how many streams of events are open.
func (s *Server) Streams() int {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	return s.streams.all
}

// events answers with the stream of events that the caller may see, from the one after Last-Event-ID or
// ?after=, until the reader or the server goes. It is for the socket only: over TCP an answer is sealed
// as a whole.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	q, who := s.identify(r)
	err := s.admit(&q, who, verbEvents, false)
	if err == nil {
		err = s.allowed(q, verbEvents)
	}
	if err == nil && who.leaveSeat == nil {
		err = wire.Fail(wire.BadRequest, "connect to the socket on sluiced's host, or read the report again every few seconds",
			"the stream of events is on sluiced's socket only, not over TCP")
	}
	if err != nil {
		s.sendError(w, q, translate(err))
		return
	}
	f := s.service.Events()
	at, missing, err := f.From(askedAfter(r))
	if err != nil {
		s.sendError(w, q, wire.Fail(wire.BadRequest, "leave Last-Event-ID and ?after= out to begin with what comes now", "%v", err))
		return
	}
	leave, full := s.streams.enter(q.caller.UID, streamsOfUser)
	if full != nil {
		s.sendError(w, q, full)
		return
	}
	defer leave()
	who.leaveSeat()
	out := &stream{server: s, request: q, to: http.NewResponseController(w), w: w, hangUp: who.hangUp}
	// Those deadlines were for a request. net/http goes on to read, to notice when the reader goes.
	if errors.Join(out.to.SetReadDeadline(time.Time{}), out.to.SetWriteDeadline(time.Time{})) != nil {
		return
	}
	h := w.Header()
	h.Set("Content-Type", wire.StreamType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // for a web server in between
	w.WriteHeader(http.StatusOK)
	out.run(f, at, missing, askedAfter(r) == "")
}

// askedAfter is the id that the reader has; "" = it begins. A browser sends the header by itself, and
// that is newer than what is in its page's address.
func askedAfter(r *http.Request) string {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return id
	}
	return r.URL.Query().Get("after")
}

// stream is one reader.
type stream struct {
	server  *Server
	request request
	w       http.ResponseWriter
	to      *http.ResponseController
	hangUp  func() error
	closed  bool // its reader may not go on
	buffer  bytes.Buffer
}

// run writes until the reader or the server goes.
func (s *stream) run(f *feed.Feed, at uint64, missing feed.Missing, begins bool) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	s.buffer.WriteString(": sluiced\n\n") // the header is sent with the first bytes
	if missing != feed.Nothing {
		s.gap(f, at, missing)
	}
	if last, ok := f.Last(wire.KindCycle); begins && ok {
		s.add(f, last)
	}
	for {
		events, next, missed, grew := f.Read(at, streamPage)
		if missed { // it was slower than the events
			s.gap(f, next-uint64(len(events)), feed.Old)
		}
		if s.renew(); s.closed {
			return
		}
		for _, e := range events {
			if s.request.hears(e) {
				s.add(f, e)
			}
		}
		if at = next; !s.flush() {
			return
		}
		if len(events) == streamPage {
			continue
		}
		select {
		case <-s.request.Context().Done():
			return
		case <-grew:
		case <-beat.C:
			s.buffer.WriteString(": \n\n")
		}
	}
}

// renew brings up to date who the reader is and what it may see: a stream may last for months.
func (s *stream) renew() {
	s.request.options = *s.server.options.Load()
	s.request.caller.Name = s.server.names.of(s.request.caller.UID, s.request.options.Now())
	if via := s.request.caller.Via; via != "" && via != s.request.options.Web { // no longer the web program
		s.closed = true
	}
}

// hears reports whether the caller may have the event.
func (q request) hears(e feed.Event) bool {
	switch e.Access {
	case feed.Everyone:
		return true
	case feed.OfUser:
		return q.seesJobsOf(e.UID)
	}
	return q.options.standing(q.caller) != other
}

func (s *stream) add(f *feed.Feed, e feed.Event) { s.put(f.ID(e.Number), e.Kind, e.Data) }

// gap tells that events before the one after a position are missing.
func (s *stream) gap(f *feed.Feed, position uint64, why feed.Missing) {
	id := f.ID(position)
	data, err := json.Marshal(wire.Happening{ID: id, At: s.request.options.Now(), Kind: wire.KindGap, Gap: string(why)})
	if err != nil {
		return // it has nothing that cannot be written
	}
	s.put(id, wire.KindGap, data)
}

// put appends one event in the form of text/event-stream. JSON has no line breaks.
func (s *stream) put(id, kind string, data []byte) {
	s.buffer.WriteString("id: " + id + "\nevent: " + kind + "\ndata: ")
	s.buffer.Write(data)
	s.buffer.WriteString("\n\n")
}

// flush writes what is in the buffer; false: the reader has gone, or is too slow.
func (s *stream) flush() bool {
	if s.buffer.Len() == 0 {
		return true
	}
	slow := time.AfterFunc(streamWrite, func() { _ = s.hangUp() })
	defer slow.Stop()
	_, err := s.w.Write(s.buffer.Bytes())
	s.buffer.Reset()
	if s.buffer.Cap() > 1<<20 { // one burst must not stay for the life of the stream
		s.buffer = bytes.Buffer{}
	}
	return err == nil && s.to.Flush() == nil
}
