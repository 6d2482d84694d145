package client

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/munge"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// open is a munge whose credentials every account can read.
type open struct{}

func (open) Seal(_ context.Context, payload []byte, _ uint32) (string, error) {
	return "MUNGE:" + base64.StdEncoding.EncodeToString(payload) + ":", nil
}

func (open) Open(context.Context, string, uint32) (munge.Credential, error) {
	return munge.Credential{}, munge.ErrMissing
}

// A request that sluiced says it has not read is tried again, orders included; so is one whose
// connection was closed before it was sent. One that may have been read is tried again only if
// it changes nothing. Each try uses its own connection.
func TestTriedAgain(t *testing.T) {
	tooMany := wire.MarkPlain + `{"error":{"code":"too_many","message":"many ask"}}`
	for name, c := range map[string]struct {
		hello      bool   // it greets before it closes the connection
		answer     string // answer of each try but the last
		bad        int    // number of failures before the first success
		get, order int    // number of letters read in the end
		refused    error  // error of the order; for the question only if it is refused too
		both       bool
	}{
		"has no time":            {hello: true, answer: tooMany, bad: 5, get: 6, order: 6},
		"never has time":         {hello: true, answer: tooMany, bad: 1000, get: attempts, order: attempts, refused: wire.ErrTooMany, both: true},
		"hangs up at the door":   {bad: 5, get: 1, order: 1},
		"hangs up on the letter": {hello: true, bad: 2, get: 3, order: 1, refused: wire.ErrTooMany},
		"always hangs up on it":  {hello: true, bad: 1000, get: attemptsRead, order: 1, refused: wire.ErrTooMany, both: true},
		"denies":                 {hello: true, answer: wire.MarkPlain + `{"error":{"code":"denied","message":"no"}}`, bad: 1000, get: 1, order: 1, refused: wire.ErrDenied, both: true},
		"other trouble":          {hello: true, answer: wire.MarkPlain + `{"error":{"code":"unavailable","message":"no"}}`, bad: 1000, get: 1, order: 1, refused: wire.ErrUnavailable, both: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, order := range []bool{false, true} {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				var letters atomic.Int64
				go func() {
					for n := 0; ; n++ {
						conn, err := l.Accept()
						if err != nil {
							return
						}
						if n < c.bad {
							refuse(conn, c.hello, c.answer, &letters)
						} else {
							answerEmpty(t, conn, &letters)
						}
					}
				}()
				client := DialRemote(Remote{Address: l.Addr().String(), Munge: open{}})
				want, refused := c.get, error(nil)
				if order {
					want = c.order
				}
				if order || c.both {
					refused = c.refused
				}
				if order {
					err = client.Direct(t.Context(), elastic.JobID(7), wire.Change{Order: wire.Hold})
				} else {
					_, err = client.History(t.Context(), 7)
				}
				if !errors.Is(err, refused) || int(letters.Load()) != want {
					t.Errorf("order %v: %v after %d letters, want %v after %d", order, err, letters.Load(), refused, want)
				}
			}
		})
	}
}

// refuse refuses a connection with that answer. It reads the letter first if it greets.
func refuse(conn net.Conn, hello bool, answer string, letters *atomic.Int64) {
	defer conn.Close()
	if !hello {
		return
	}
	io.WriteString(conn, wire.Greeting+wire.NewNonce()+"\n")
	if _, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
		letters.Add(1)
		io.WriteString(conn, answer)
	}
}

// answerEmpty answers a letter with an empty object.
func answerEmpty(t *testing.T, conn net.Conn, letters *atomic.Int64) {
	defer conn.Close()
	nonce := wire.NewNonce()
	io.WriteString(conn, wire.Greeting+nonce+"\n")
	text, _ := bufio.NewReader(conn).ReadString('\n')
	letters.Add(1)
	raw, err := base64.StdEncoding.DecodeString(strings.Trim(strings.TrimPrefix(strings.TrimSpace(text), "MUNGE"), ":"))
	var l wire.Letter
	if err != nil || json.Unmarshal(raw, &l) != nil || l.Nonce != nonce {
		t.Errorf("letter %q: %v", text, err)
		return
	}
	out, err := wire.Seal(l.Key, nonce, 200, []byte("{}"))
	if err != nil {
		t.Error(err)
	}
	io.WriteString(conn, wire.MarkSealed)
	conn.Write(out)
}
