package munge

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const form = "MUNGE:AAAA:"

// as returns a tool for a munged that calls do for its n-th connection, from 1, after reading
// the header of a request.
func as(t *testing.T, do func(n int, c net.Conn, header []byte)) *Tool {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				header := make([]byte, headerBytes)
				if _, err := io.ReadFull(c, header); err == nil {
					do(n, c, header)
				}
			}()
		}
	}()
	tool, err := New(socket)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// body reads what follows the header.
func body(c net.Conn, header []byte) {
	_, _ = io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(header[7:])))
}

// answers returns a tool for a munged that reads a request and answers with these bytes.
func answers(t *testing.T, raw []byte) *Tool {
	return as(t, func(_ int, c net.Conn, header []byte) { body(c, header); _, _ = c.Write(raw) })
}

func TestUnexpectedMunged(t *testing.T) {
	t.Parallel()
	good := build(0, "", cipherAES128, []byte{10, 0, 0, 2}, 1001, 7, 500, "hi")
	header := func(change func([]byte)) []byte { m := message(decodeAnswer, 0, good); change(m); return m }
	of := func(body []byte) []byte { return message(decodeAnswer, 0, body) }
	for name, c := range map[string]struct {
		answer []byte
		want   error // nil: good
		words  string
	}{
		"good":                 {of(good), nil, ""},
		"another version":      {header(func(m []byte) { m[4] = 5 }), ErrMissing, "munged speaks version 5 of its protocol; sluice speaks version 4"},
		"another service":      {[]byte("HTTP/1.1 400 Bad Request\r\n"), ErrMissing, "what answers is not munged"},
		"another type":         {header(func(m []byte) { m[5] = 3 }), ErrMissing, "message of type 3"},
		"far too long":         {header(func(m []byte) { m[8] = 0xff }), ErrRefused, "more than"},
		"longer than said":     {header(func(m []byte) { m[10]-- }), ErrMissing, "malformed"},
		"cut short":            {of(good)[:40], ErrMissing, "unexpected EOF"},
		"header cut short":     {of(good)[:5], ErrMissing, "unexpected EOF"},
		"nothing":              {nil, ErrMissing, "closed the connection without an answer; sluice speaks version 4"},
		"empty body":           {of(nil), ErrMissing, "malformed"},
		"a byte too many":      {of(append(good[:len(good):len(good)], 0)), ErrMissing, "malformed"},
		"a strange address":    {of(build(0, "", cipherAES128, []byte{1, 2, 3}, 1001, 7, 500, "hi")), ErrMissing, "malformed"},
		"for another":          {of(build(0, "", cipherAES128, nil, 1001, 7, 501, "hi")), ErrRefused, "not made for uid 500"},
		"for all":              {of(build(0, "", cipherAES128, nil, 1001, 7, anyID, "hi")), ErrRefused, "not made for uid 500"},
		"in the clear":         {of(build(0, "", cipherNone, nil, 1001, 7, 500, "hi")), ErrRefused, "not encrypted"},
		"expired":              {of(build(15, "", cipherAES128, nil, 1001, 7, 500, "hi")), ErrRefused, "Expired credential"},
		"replayed":             {of(build(17, "Replayed credential\x00", cipherAES128, nil, 1001, 7, 500, "hi")), ErrRefused, "Replayed credential"},
		"an error to come":     {of(build(99, "", cipherAES128, nil, 1001, 7, 500, "hi")), ErrRefused, "Unknown error"},
		"escapes":              {of(build(14, "a\x1b[31mb\xff", cipherAES128, nil, 1001, 7, 500, "")), ErrRefused, "a?[31mb?"},
		"forged, ends early":   {of(build(1, "Failed to decrypt credential\x00", 0, nil, anyID, anyID, anyID, "")), ErrRefused, "Failed to decrypt"},
		"munged has no memory": {of(build(5, "", 0, nil, 0, 0, 0, "")), ErrMissing, "Out of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := answers(t, c.answer).Open(t.Context(), form, 500)
			if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.words) {
				t.Fatalf("got %v, want %v %q", err, c.want, c.words)
			}
			if c.want == nil && (got.UID != 1001 || got.GID != 7 || got.Host != "10.0.0.2" || string(got.Payload) != "hi") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestUnexpectedSeal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, words string }{
		"no credential":   {"\x00\x00\x00\x00\x00\x03no\x00", "no credential"},
		"an error":        {"\x0a\x03no\x00\x00\x00\x00\x00", "munged: no"},
		"a byte too many": {"\x00\x00\x00\x00\x00\x0cMUNGE:AAAA:\x00\x00", "malformed"},
	} {
		_, err := answers(t, message(encodeAnswer, 0, []byte(c.body))).Seal(t.Context(), nil, 500)
		if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", name, err, c.words)
		}
	}
}

// A request is sent again when munged is restarted during the exchange, marked as a retry: else
// munged would take the credential for a replay.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	var retries atomic.Int64
	good := message(decodeAnswer, 0, build(0, "", cipherAES128, nil, 1001, 7, 500, "hi"))
	tool := as(t, func(n int, c net.Conn, header []byte) {
		body(c, header)
		retries.Store(int64(header[6]))
		if n == 3 {
			_, _ = c.Write(good)
		} else {
			_, _ = c.Write(good[:n*8])
		}
	})
	if _, err := tool.Open(t.Context(), form, 500); err != nil || retries.Load() != 2 {
		t.Errorf("%v, %d times again", err, retries.Load())
	}
}

// A munged that does not answer is waited for until the deadline; a cancelled call does not
// wait.
func TestHanging(t *testing.T) {
	t.Parallel()
	tool := as(t, func(_ int, c net.Conn, _ []byte) { _, _ = io.Copy(io.Discard, c) })
	began := time.Now()
	if _, err := tool.Seal(t.Context(), []byte("x"), 1); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "not answered in 3s") || time.Since(began) > 3*within {
		t.Errorf("got %v after %v", err, time.Since(began))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := tool.Seal(ctx, []byte("x"), 1); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrMissing) {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := tool.Seal(ctx, []byte("x"), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNoMunged(t *testing.T) {
	t.Parallel()
	if _, err := New("/" + strings.Repeat("x", 200)); !errors.Is(err, ErrMissing) {
		t.Errorf("too long a path: %v", err)
	}
	dir := t.TempDir()
	tool, err := New(filepath.Join(dir, "none"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.Seal(t.Context(), nil, 0); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "is munged running?") {
		t.Errorf("no socket: %v", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "none"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close() // as a munged that was killed
	if _, err := tool.Seal(t.Context(), nil, 0); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "connection refused; is it running?") {
		t.Errorf("a socket without a listener: %v", err)
	}
}
