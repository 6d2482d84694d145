package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
)

// Deadlines of the client. Reads are answered from memory; requests about one job may wait for
// a cycle that finds it; Plan and Direct wait for Slurm, Usage and Shares for the store.
const (
	quick   = 2 * time.Second
	patient = 5 * time.Second
	slow    = 45 * time.Second
)

// maxAnswer bounds the size of an answer: some 20 000 jobs.
const maxAnswer = 64 << 20

// bytesOfJob is about the smallest size of a job in a report, in bytes.
const bytesOfJob = 384

// Client talks to a sluiced. Its zero value is not usable; see Dial. It is safe for concurrent
// use.
type Client struct {
	path   string // or HOST:PORT
	remote bool
	socket socket // unless remote
	carry  carrier
}

// carrier does one exchange and returns the status and the body of the answer.
type carrier func(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error)

// Where returns the path of the socket, or the TCP address, of the daemon.
func (c *Client) Where() string { return c.path }

// Dial returns a client for the socket. It connects on the first call. Every call has its own
// deadline: 2 s for reads and events, 5 s for requests about one job, 45 s where the daemon
// asks Slurm first (Plan, Direct) or reads its history (Usage). All errors are *wire.Error.
func Dial(path string) *Client {
	s := socket{path: path}
	return &Client{path: path, socket: s, carry: s.exchange}
}

// Status returns the state of the daemon.
func (c *Client) Status(ctx context.Context) (wire.Status, error) {
	return ask[wire.Status](ctx, c, quick, get, "/v1/status", nil)
}

// Report returns what the last cycle saw and decided.
func (c *Client) Report(ctx context.Context) (wire.Report, error) {
	return ask[wire.Report](ctx, c, quick, get, "/v1/report", nil)
}

// Present is Report without the jobs that have ended. A sluiced that is older than the client
// may have them in it.
func (c *Client) Present(ctx context.Context) (wire.Report, error) {
	return ask[wire.Report](ctx, c, quick, get, "/v1/report?ended=false", nil)
}

// Shares returns how the GPUs were divided by shares in the last cycle.
func (c *Client) Shares(ctx context.Context) (wire.Shares, error) {
	return ask[wire.Shares](ctx, c, slow, get, "/v1/shares", nil)
}

// Sweeps returns the sweeps that the daemon looks after and that the caller may see.
func (c *Client) Sweeps(ctx context.Context) (wire.Sweeps, error) {
	return ask[wire.Sweeps](ctx, c, slow, get, "/v1/sweeps", nil)
}

// Sweep returns trials of a sweep of the caller or, for operators, of any user. Of sweeps with one number
// the caller's own counts.
func (c *Client) Sweep(ctx context.Context, number int64, q digest.Query) (wire.SweepTrials, error) {
	query := url.Values{"sort": {q.Sort}, "from": {strconv.Itoa(q.From)}}
	return ask[wire.SweepTrials](ctx, c, slow, get, fmt.Sprintf("/v1/sweeps/%d?%s", number, query.Encode()), nil)
}

// Explain returns one job and the sizes that it could have.
func (c *Client) Explain(ctx context.Context, job elastic.JobID) (wire.Explanation, error) {
	return ask[wire.Explanation](ctx, c, patient, get, jobPath(job, "explain"), nil)
}

// History returns one job's runs, oldest first.
func (c *Client) History(ctx context.Context, job elastic.JobID) (wire.History, error) {
	return ask[wire.History](ctx, c, patient, get, jobPath(job, "history"), nil)
}

// Usage returns what the jobs that the caller may see used in a time range, one row for each
// account, user or model. A zero until is now.
func (c *Client) Usage(ctx context.Context, by string, since, until time.Time) (wire.Usage, error) {
	query := url.Values{"by": {by}, "since": {since.UTC().Format(time.RFC3339)}}
	if !until.IsZero() {
		query.Set("until", until.UTC().Format(time.RFC3339))
	}
	return ask[wire.Usage](ctx, c, slow, get, "/v1/usage?"+query.Encode(), nil)
}

// Speeds returns the learned throughput of a model: for the caller's own jobs, or for those of
// the user uid. A nil uid is the caller.
func (c *Client) Speeds(ctx context.Context, model string, uid *uint32) (wire.Speeds, error) {
	query := url.Values{"model": {model}}
	if uid != nil {
		query.Set("uid", strconv.FormatUint(uint64(*uid), 10))
	}
	return ask[wire.Speeds](ctx, c, patient, get, "/v1/speed?"+query.Encode(), nil)
}

// Plan returns what the next cycle would do. It changes nothing.
func (c *Client) Plan(ctx context.Context) (wire.Plan, error) {
	return ask[wire.Plan](ctx, c, slow, get, "/v1/plan", nil)
}

// Direct gives an order about a job of the caller or, for operators, of any user.
func (c *Client) Direct(ctx context.Context, job elastic.JobID, change wire.Change) error {
	return c.call(ctx, slow, post, jobPath(job, "direct"), change, nil)
}

// Trust allows a node to be used again, whatever jobs reported of its GPUs. Operators only.
func (c *Client) Trust(ctx context.Context, node string) error {
	return c.call(ctx, slow, post, "/v1/nodes/"+url.PathEscape(node)+"/trust", nil, nil)
}

// Event wakes the daemon for a cycle. job may be 0.
func (c *Client) Event(ctx context.Context, job elastic.JobID, kind string) error {
	return c.call(ctx, quick, post, "/v1/event", wire.Event{JobID: int64(job), Kind: kind}, nil)
}

// Nudge is Event for callers that cannot wait: it sends the event and, except over TCP, does
// not wait for the answer. It returns ErrNoDaemon if no daemon listens.
func (c *Client) Nudge(job elastic.JobID, kind string) error {
	if c.remote {
		return c.Event(context.Background(), job, kind)
	}
	body := fmt.Sprintf(`{"job_id":%d,"kind":%q}`, job, kind)
	conn, err := net.DialTimeout("unix", c.path, time.Second)
	if err != nil {
		return c.unreachable(err)
	}
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /v1/event HTTP/1.1\r\nHost: sluiced\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	return err
}

func jobPath(job elastic.JobID, verb string) string {
	return "/v1/jobs/" + strconv.FormatInt(int64(job), 10) + "/" + verb
}

// ask is call with an answer of the type T.
func ask[T any](ctx context.Context, c *Client, limit time.Duration, method, path string, in any) (out T, err error) {
	err = c.call(ctx, limit, method, path, in, &out)
	return out, err
}

// call does one exchange: in is the body, out receives the answer; both may be nil.
func (c *Client) call(ctx context.Context, limit time.Duration, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return wire.Fail(wire.BadRequest, "", "request cannot be written: %v", err)
		}
	}
	status, answer, err := c.carry(ctx, method, path, body)
	if err != nil {
		return c.unreachable(err)
	}
	return c.read(status, answer, out)
}

// read decodes the answer: an Error, a version that this client does not know, or the value
// itself.
func (c *Client) read(status int, raw []byte, out any) error {
	if len(raw) > maxAnswer {
		return wire.Fail(wire.Internal, "", "the daemon on %s answered more than %d bytes", c.path, maxAnswer)
	}
	if status != 200 {
		var failed wire.Failed
		if json.Unmarshal(raw, &failed) != nil || failed.Error == nil || failed.Error.Code == "" {
			return wire.Fail(wire.Internal, "is that process sluiced?", "%s answered with HTTP status %d", c.path, status)
		}
		return failed.Error
	}
	if out == nil {
		return nil
	}
	if version := versionOf(raw); version > wire.Version {
		return wire.Fail(wire.BadRequest, "use the sluice that was installed with the daemon",
			"the daemon on %s speaks version %d, this program %d", c.path, version, wire.Version)
	}
	if report, is := out.(*wire.Report); is { // allocated at once: a growing slice would copy about 1 KB per job
		report.Jobs = make([]wire.Job, 0, len(raw)/bytesOfJob)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return wire.Fail(wire.Internal, "is that process sluiced?", "%s sent an invalid answer: %v", c.path, err)
	}
	return nil
}

// versionOf returns the version of an answer; 0 if it has none. sluiced writes the version
// first, so usually only the text up to the first comma is parsed: answers are long.
func versionOf(raw []byte) int {
	var version struct {
		Version int `json:"version"`
	}
	if first, _, ok := bytes.Cut(raw, []byte(",")); ok && json.Unmarshal(append(bytes.Clone(first), '}'), &version) == nil && version.Version > 0 {
		return version.Version
	}
	_ = json.Unmarshal(raw, &version) // text that is not JSON has no version
	return version.Version
}

// unreachable returns an error that names the socket and what to type.
func (c *Client) unreachable(err error) error {
	const hint = "see 'systemctl status sluiced', or start your own with 'sluiced --user'"
	var known *wire.Error
	switch {
	case errors.As(err, &known):
		return known
	case c.remote && refused(err):
		return wire.Fail(wire.NoDaemon, "see 'systemctl status sluiced' on its host, and [remote] address", "no sluiced: no process listens on %s", c.path)
	case errors.Is(err, os.ErrNotExist):
		return wire.Fail(wire.NoDaemon, hint, "no sluiced: there is no socket %s", c.path)
	case refused(err):
		return wire.Fail(wire.NoDaemon, hint, "no sluiced: no process listens on %s", c.path)
	case errors.Is(err, os.ErrPermission):
		return wire.Fail(wire.Denied, "is it another user's sluiced? see [paths] socket, or set SLUICE_CONF", "may not open the socket %s", c.path)
	case errors.Is(err, context.Canceled):
		return wire.Fail(wire.NoDaemon, "", "interrupted")
	case os.IsTimeout(err) || errors.Is(err, context.DeadlineExceeded):
		return wire.Fail(wire.NoDaemon, hint, "the sluiced on %s does not answer in time", c.path)
	case c.remote && errors.Is(err, io.EOF):
		return wire.Fail(wire.TooMany, "try again in a moment", "the sluiced on %s has no time: many connect from this node", c.path)
	}
	return wire.Fail(wire.NoDaemon, hint, "no answer on %s: %s", c.path, cause(err))
}

// cause unwraps an error to its innermost.
func cause(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return fmt.Sprint(err)
		}
		err = next
	}
}

// refused reports whether no process listens at an address that exists.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
