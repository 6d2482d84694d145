package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

const (
	// silence is how long a stream may be without a byte before the daemon counts as gone. It sends a
	// comment every 15 s.
	silence = time.Minute
	// maxHappening bounds one line of the stream, in bytes.
	maxHappening = 64 << 10
)

// Events reads the stream of events and calls each with every event, in order, until ctx ends, the
// connection breaks or each returns an error, which it returns unchanged. after is the id of the
// last event that the caller had: what came after it is sent first. "" = only what comes from now on.
// There is one event of kind wire.KindGap if events after it are missing. The stream is on the
// socket only. A daemon that sends nothing for a minute counts as gone.
func (c *Client) Events(ctx context.Context, after string, each func(wire.Happening) error) error {
	if c.remote {
		return wire.Fail(wire.BadRequest, "run it on the host of sluiced, or read the report again every few seconds",
			"the stream of events is on sluiced's socket only, not over TCP")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	path := "/v1/events"
	if after != "" {
		path += "?after=" + url.QueryEscape(after)
	}
	conn, err := c.socket.send(ctx, get, path, nil)
	if err != nil {
		return c.unreachable(err)
	}
	defer conn.Close()
	quiet := time.AfterFunc(silence, func() { cancel(context.DeadlineExceeded); conn.Close() })
	defer quiet.Stop()
	in := bufio.NewReaderSize(conn, maxHappening)
	status, _, err := readHead(in)
	if err != nil {
		return c.unreachable(orCause(ctx, err))
	}
	if status != 200 {
		raw, err := io.ReadAll(io.LimitReader(in, maxHead))
		if err != nil {
			return c.unreachable(orCause(ctx, err))
		}
		return c.read(status, raw, nil)
	}
	for {
		quiet.Reset(silence)
		data, err := readHappening(in)
		if err != nil {
			return c.unreachable(orCause(ctx, err))
		}
		var h wire.Happening
		if err := json.Unmarshal(data, &h); err != nil {
			return wire.Fail(wire.Internal, "is that process sluiced?", "%s sent an invalid event: %v", c.path, err)
		}
		if err := each(h); err != nil {
			return err
		}
	}
}

// orCause returns why ctx ended if it has: that is why the connection was closed.
func orCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, io.EOF) {
		return errors.New("sluiced ended the stream")
	}
	return err
}

// readHappening returns the data of the next event, past comments and other fields. sluiced writes the
// data of an event on one line.
func readHappening(in *bufio.Reader) ([]byte, error) {
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if data, ok := strings.CutPrefix(string(line), "data:"); ok {
			return []byte(data), nil
		}
	}
}
