package client

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// PastQuery is what part of the history is asked for.
type PastQuery struct {
	Of       string        // wire.OfJobs ... ; "" = jobs
	From, To time.Time     // a zero To is now
	Job      elastic.JobID // 0 = all
	User     string        // "" = all
	Limit    int           // rows of a page; 0 = wire.PastRows
	Cursor   string        // Past.Next of the page before; "" = the first
}

// Past returns a page of the history of a time range: of what the caller may see.
func (c *Client) Past(ctx context.Context, q PastQuery) (wire.Past, error) {
	query := url.Values{"from": {q.From.UTC().Format(time.RFC3339Nano)}}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	set("of", q.Of)
	if !q.To.IsZero() {
		set("to", q.To.UTC().Format(time.RFC3339Nano))
	}
	if q.Job != 0 {
		set("job", strconv.FormatInt(int64(q.Job), 10))
	}
	set("user", q.User)
	if q.Limit != 0 {
		set("limit", strconv.Itoa(q.Limit))
	}
	set("cursor", q.Cursor)
	return ask[wire.Past](ctx, c, slow, get, "/v1/history?"+query.Encode(), nil)
}

// Forecast returns what the daemon expects of the jobs that the caller may see.
func (c *Client) Forecast(ctx context.Context) (wire.Forecast, error) {
	return ask[wire.Forecast](ctx, c, slow, get, "/v1/forecast", nil)
}

// WhatIf returns what a change of one job would do to the expected ends of all. It orders nothing.
func (c *Client) WhatIf(ctx context.Context, change wire.WhatIf) (wire.WhatIfAnswer, error) {
	return ask[wire.WhatIfAnswer](ctx, c, slow, post, "/v1/forecast", change)
}

// Deadline changes a job's deadline, and returns what the daemon says of it at once.
func (c *Client) Deadline(ctx context.Context, job elastic.JobID, change wire.Change) (wire.Judgement, error) {
	change.Order = wire.NewDeadline
	return ask[wire.Judgement](ctx, c, slow, post, jobPath(job, "direct"), change)
}

// As returns a client whose requests are those of another user. The caller MUST be the account of the
// site's web program ([web] user in sluice.toml), and the client one of the socket: sluiced refuses
// all others.
func (c *Client) As(user string) *Client {
	out := *c
	out.socket.user = user
	out.carry = out.socket.exchange
	if c.remote {
		out.carry = func(context.Context, string, string, []byte) (int, []byte, error) {
			return 0, nil, wire.Fail(wire.Denied, "run it on the host of sluiced", "no request can be made for another user over TCP")
		}
	}
	return &out
}
