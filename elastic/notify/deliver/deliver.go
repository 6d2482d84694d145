package deliver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/notify"
)

// Channels.
const (
	Exec    = "exec"
	Webhook = "webhook"
	Mail    = "mail"
)

// Outcomes of a message.
const (
	Sent    = "sent"
	Failed  = "failed"
	Dropped = "dropped"
)

// Bounds.
const (
	mostWaiting = 2000 // messages, over all
	mostOfUser  = 200  // messages for one user
	attemptFor  = 30 * time.Second
)

// delays are the times before each further attempt.
var delays = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute}

// Attempts is how often a message is tried.
var Attempts = len(delays) + 1

// Config is what a Queue sends by.
type Config struct {
	Channels
	// Now is the clock. It MUST be set.
	Now func() time.Time
	// Told is called when a channel begins to fail, with the error, and with nil when it works again.
	Told func(channel string, err error)
	// Count and Waiting are called for each message that is done with, and with the number of those that are
	// not; nil = not counted.
	Count   func(channel, outcome string)
	Waiting func(n int)
}

// Queue holds messages until they are sent. All methods are safe for concurrent use.
type Queue struct {
	config Config
	lanes  map[string]chan *item
	wait   func(time.Duration) (<-chan time.Time, func() bool)

	mu      sync.Mutex
	waiting int
	of      map[uint32]int
	state   State
	broken  map[string]error // by channel
	running sync.WaitGroup
}

// State is what became of messages so far.
type State struct {
	Waiting               int
	Sent, Failed, Dropped int    // without those to users' webhooks that were not sent
	OfUsers               int    // messages to users' webhooks that failed or were dropped
	Why                   string // why the last one of Failed and Dropped was not sent, as far as it is no user's matter
}

// item is one message for one channel.
type item struct {
	send    notify.Send
	channel string
	site    bool
	tried   int
}

// lanesOf are the numbers of messages that are sent at once. Users' webhooks have a lane of their own, so that a
// slow host of one does not delay the site's.
var lanesOf = map[string]int{Exec: 2, Webhook: 2, Mail: 2, usersWebhook: 4}

const usersWebhook = "users' webhook"

// New returns a queue that sends once Run is called.
func New(c Config) *Queue {
	q := &Queue{config: c, lanes: map[string]chan *item{}, of: map[uint32]int{}, broken: map[string]error{}, wait: timer}
	for lane := range lanesOf {
		q.lanes[lane] = make(chan *item, mostWaiting)
	}
	return q
}

func timer(d time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop
}

// Add queues messages. It never blocks.
func (q *Queue) Add(sends []notify.Send) {
	c := q.channels()
	for _, s := range sends {
		if s.Site && len(c.Exec) > 0 {
			q.add(&item{send: s, channel: Exec, site: true})
		}
		if s.Site && c.Webhook != "" {
			q.add(&item{send: s, channel: Webhook, site: true})
		}
		if s.User != nil && s.User.Mail && c.Mailer != nil {
			q.add(&item{send: s, channel: Mail})
		}
		if s.User != nil && s.User.Webhook {
			q.add(&item{send: s, channel: Webhook})
		}
	}
}

func (q *Queue) add(i *item) {
	q.mu.Lock()
	full := q.waiting >= mostWaiting || !i.site && q.of[i.send.User.Owner] >= mostOfUser
	if full {
		q.mu.Unlock()
		q.done(i, Dropped, fmt.Errorf("too many messages wait to be sent"), false)
		return
	}
	q.waiting++
	if !i.site {
		q.of[i.send.User.Owner]++
	}
	n := q.waiting
	q.mu.Unlock()
	q.tell(n)
	q.lanes[i.lane()] <- i // it has room for all that may wait
}

func (i *item) lane() string {
	if i.channel == Webhook && !i.site {
		return usersWebhook
	}
	return i.channel
}

// Run sends until ctx ends. It returns how many messages are lost then.
func (q *Queue) Run(ctx context.Context) int {
	for lane, n := range lanesOf {
		for range n {
			q.running.Add(1)
			go q.work(ctx, q.lanes[lane])
		}
	}
	<-ctx.Done()
	q.running.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

// work sends the messages of one lane.
func (q *Queue) work(ctx context.Context, lane chan *item) {
	defer q.running.Done()
	for {
		select {
		case <-ctx.Done():
			return
		case i := <-lane:
			q.try(ctx, i, lane)
		}
	}
}

// try makes one attempt. After a failure the message comes back into its lane.
func (q *Queue) try(ctx context.Context, i *item, lane chan *item) {
	attempt, cancel := context.WithTimeout(ctx, attemptFor)
	err := q.channels().deliver(attempt, i, q.config.Now())
	cancel()
	if ctx.Err() != nil {
		return
	}
	i.tried++
	switch {
	case err == nil:
		q.done(i, Sent, nil, true)
	case permanent(err) || i.tried > len(delays):
		q.done(i, Failed, err, true)
	default:
		q.note(i, err)
		due, stop := q.wait(delays[i.tried-1])
		q.running.Add(1)
		go func() {
			defer q.running.Done()
			defer stop()
			select {
			case <-ctx.Done():
			case <-due:
				lane <- i // it has room: the message still counts
			}
		}()
	}
}

// done counts a message that is done with. held: it counted as waiting.
func (q *Queue) done(i *item, outcome string, err error, held bool) {
	q.note(i, err)
	if q.config.Count != nil {
		q.config.Count(i.channel, outcome)
	}
	q.mu.Lock()
	if held {
		q.waiting--
		if !i.site {
			if q.of[i.send.User.Owner]--; q.of[i.send.User.Owner] <= 0 {
				delete(q.of, i.send.User.Owner)
			}
		}
	}
	switch {
	case outcome == Sent:
		q.state.Sent++
	case i.lane() == usersWebhook:
		q.state.OfUsers++
	case outcome == Failed:
		q.state.Failed++
	case outcome == Dropped:
		q.state.Dropped++
	}
	if err != nil && (i.site || i.channel == Mail && !permanent(err)) { // else it has a user's address
		q.state.Why = i.channel + ": " + err.Error()
	}
	n := q.waiting
	q.mu.Unlock()
	q.tell(n)
}

// note tells of a lane that begins to fail, or works again.
func (q *Queue) note(i *item, err error) {
	q.mu.Lock()
	was := q.broken[i.lane()]
	q.broken[i.lane()] = err
	q.mu.Unlock()
	if (was == nil) != (err == nil) && q.config.Told != nil {
		q.config.Told(i.lane(), err)
	}
}

func (q *Queue) tell(n int) {
	if q.config.Waiting != nil {
		q.config.Waiting(n)
	}
}

// State returns what became of messages so far.
func (q *Queue) State() State {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.state
	s.Waiting = q.waiting
	return s
}

// Configure changes what messages are sent by; those that wait go there, too.
func (q *Queue) Configure(c Channels) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.config.Channels = c
}

func (q *Queue) channels() *Channels {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.config.Channels
	return &c
}
