package feed

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Bounds on what is kept: the oldest events are dropped beyond either. A page that was away for a
// minute on a busy cluster misses none; the memory is bounded whatever users write.
const (
	MostEvents = 4096
	MostBytes  = 8 << 20
)

// Access is which users may read an event.
type Access int

// The kinds of access.
const (
	Operators Access = iota // root and operators; the zero value reveals least
	OfUser                  // those that may see the jobs of Event.UID
	Everyone
)

// Event is one event in the feed.
type Event struct {
	Number uint64 // 1, 2, 3 ... in order
	Kind   string
	Access Access
	UID    uint32 // of OfUser
	Data   []byte // MUST NOT be changed
}

// Feed is the ring. Its zero value is not usable; see New.
type Feed struct {
	epoch string

	mu     sync.Mutex
	events []Event // ascending without gaps
	bytes  int
	last   uint64
	grew   chan struct{} // closed when an event is added
}

// New returns an empty feed. epoch MUST differ from that of every earlier run of the program; it has
// letters and digits only.
func New(epoch string) *Feed { return &Feed{epoch: epoch, grew: make(chan struct{})} }

// ID returns the id of the event with a number.
func (f *Feed) ID(number uint64) string { return f.epoch + "-" + strconv.FormatUint(number, 10) }

// Add appends an event, whose data encode returns for its id. encode MUST NOT use the feed. If it
// returns nothing no event is added.
func (f *Feed) Add(kind string, access Access, uid uint32, encode func(id string) []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data := encode(f.ID(f.last + 1))
	if len(data) == 0 || len(data) > MostBytes {
		return
	}
	f.last++
	f.events = append(f.events, Event{Number: f.last, Kind: kind, Access: access, UID: uid, Data: data})
	f.bytes += len(data)
	drop := 0
	for len(f.events)-drop > MostEvents || f.bytes > MostBytes {
		f.bytes -= len(f.events[drop].Data)
		f.events[drop] = Event{} // its data is freed before append moves the rest
		drop++
	}
	f.events = f.events[drop:]
	close(f.grew)
	f.grew = make(chan struct{})
}

// ErrID is an id that no feed gives out.
var ErrID = errors.New("not the id of an event")

// Missing says why events after an id cannot be had.
type Missing string

// The values of Missing.
const (
	Nothing Missing = ""        // all events after the id can be had
	Restart Missing = "restart" // the id is of an earlier run of the program
	Old     Missing = "old"     // the events after the id are no longer kept
	Unknown Missing = "unknown" // the id was never given out
)

// From returns the position from which a reader goes on that has read up to the event of an id, and why
// it misses events. With an id of an earlier run, or one that is too old, that is before the oldest
// event that is kept; with one that was never given out, after the last. "" = after the last, and
// nothing is missing.
func (f *Feed) From(id string) (position uint64, missing Missing, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id == "" {
		return f.last, Nothing, nil
	}
	epoch, digits, found := strings.Cut(id, "-")
	number, err := strconv.ParseUint(digits, 10, 64)
	if !found || err != nil || epoch == "" || len(id) > 64 {
		return 0, Nothing, fmt.Errorf("%.40q: %w", id, ErrID)
	}
	switch oldest := f.last - uint64(len(f.events)); {
	case epoch != f.epoch:
		return oldest, Restart, nil
	case number > f.last:
		return f.last, Unknown, nil
	case number < oldest:
		return oldest, Old, nil
	}
	return number, Nothing, nil
}

// Read returns the next events after a position, at most most of them, and the position after these.
// missed: some after the position were dropped; then the events are the oldest that are kept. When there
// are none, grew is closed once there may be.
func (f *Feed) Read(position uint64, most int) (events []Event, next uint64, missed bool, grew <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	oldest := f.last - uint64(len(f.events))
	if position < oldest {
		position, missed = oldest, true
	}
	position = min(position, f.last)
	have := f.events[position-oldest:]
	have = have[:min(len(have), most)]
	// Copied: append may move the ring, and a dropped entry is cleared in place.
	return append([]Event(nil), have...), position + uint64(len(have)), missed, f.grew
}

// Last returns the number of the last event of a kind that is kept, and false if there is none.
func (f *Feed) Last(kind string) (Event, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.events) - 1; i >= 0; i-- {
		if f.events[i].Kind == kind {
			return f.events[i], true
		}
	}
	return Event{}, false
}
