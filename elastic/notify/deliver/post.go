package deliver

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/elastic/message"
)

// Headers of a signed message. The signature is "v1=" and, in hex digits, HMAC-SHA256 under the secret of the
// timestamp, a dot and the body. A receiver refuses timestamps that are more than some minutes old.
const (
	HeaderTimestamp = "Sluice-Timestamp" // Unix time of the attempt
	HeaderSignature = "Sluice-Signature"
)

// Sign returns the value of HeaderSignature.
func Sign(secret []byte, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}

// Poster is an *http.Client.
type Poster interface {
	Do(*http.Request) (*http.Response, error)
}

const (
	postWithin = 15 * time.Second
	maxAnswer  = 4 << 10 // bytes read of an answer
)

// NewClient returns a client that follows no redirects: a host that is allowed could lead to one that is not.
func NewClient(transport http.RoundTripper) *http.Client {
	return &http.Client{Timeout: postWithin, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// post sends a message; without a secret it is not signed.
func (c *Channels) post(ctx context.Context, url string, secret []byte, m message.Message, now time.Time) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", err, errPermanent)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "sluiced")
	request.Header.Set("Idempotency-Key", m.ID)
	if len(secret) > 0 {
		timestamp := strconv.FormatInt(now.Unix(), 10)
		request.Header.Set(HeaderTimestamp, timestamp)
		request.Header.Set(HeaderSignature, Sign(secret, timestamp, body))
	}
	answer, err := c.Client.Do(request)
	if err != nil {
		return inner(err, request.URL.Host)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer)
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code >= 400 && code < 500 && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests:
		return fmt.Errorf("%s answers %s: %w", request.URL.Host, answer.Status, errPermanent)
	default:
		return fmt.Errorf("%s answers %s", request.URL.Host, answer.Status)
	}
}

// inner removes the URL from an error: its path may be a secret, and the log is not.
func inner(err error, host string) error {
	var wrapped interface{ Unwrap() error }
	if errors.As(err, &wrapped) && wrapped.Unwrap() != nil {
		err = wrapped.Unwrap()
	}
	return fmt.Errorf("%s: %w", host, err)
}

// mostReads bounds the reads of users' folders that hang.
const mostReads = 16

// reads holds one value for each read of a folder that has not returned.
var reads = make(chan struct{}, mostReads)

// postForUser reads the URL of the job's user and posts to it if the site allows its host. It is not signed: a
// user could use a signature of the site's for a message to the site.
func (c *Channels) postForUser(ctx context.Context, i *item, now time.Time) error {
	type result struct {
		url string
		err error
	}
	select {
	case reads <- struct{}{}:
	default:
		return errors.New("users' folders do not answer")
	}
	read := make(chan result, 1)
	go func() {
		defer func() { <-reads }()
		url, err := c.Hook(i.send.User.Token, i.send.User.SlurmUID)
		read <- result{url, err}
	}()
	select {
	case <-ctx.Done():
		return errors.New("the job's folder does not answer")
	case r := <-read:
		if r.err != nil {
			return fmt.Errorf("%w: %w", r.err, errPermanent)
		}
		if err := c.Allows(r.url); err != nil {
			return fmt.Errorf("%w: %w", err, errPermanent)
		}
		return c.post(ctx, r.url, nil, i.send.Message, now)
	}
}
