package deliver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/message"
	"github.com/sluice-hpc/sluice/elastic/notify"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func siteMessage(id string) notify.Send {
	return notify.Send{Site: true, Message: message.Message{Version: 1, ID: id, Code: message.Failure, At: noon, Subject: "s", Text: "t\n", Job: &message.Job{ID: 7, Name: "n", User: "ann"}}}
}

func userMessage(id string, uid uint32) notify.Send {
	s := siteMessage(id)
	s.Site, s.User = false, &notify.Receiver{Token: "t", SlurmUID: uid, Owner: uid, Webhook: true, Mail: true, To: "ann"}
	return s
}

// post office is a running queue, with what it told.
type office struct {
	*Queue
	mu     sync.Mutex
	counts map[string]int
	told   []string
}

// start starts a queue in which delays are over at once, and stops it with the test.
func startQueue(t *testing.T, c Channels) *office {
	t.Helper()
	o := &office{counts: map[string]int{}}
	o.Queue = New(Config{Channels: c, Now: func() time.Time { return noon },
		Told: func(channel string, err error) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.told = append(o.told, fmt.Sprintf("%s: %v", channel, err))
		},
		Count: func(channel, outcome string) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.counts[channel+" "+outcome]++
		}})
	o.wait = func(time.Duration) (<-chan time.Time, func() bool) {
		now := make(chan time.Time, 1)
		now <- noon
		return now, func() bool { return true }
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int)
	go func() { done <- o.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return o
}

// settled waits until no message waits.
func (o *office) settled(t *testing.T) State {
	t.Helper()
	for range 12000 {
		if s := o.State(); s.Waiting == 0 {
			return s
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("messages still wait: %+v", o.State())
	return State{}
}

// said returns what was told and counted so far.
func (o *office) said() ([]string, map[string]int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.told), maps.Clone(o.counts)
}

// script writes a program of the site.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	syscall.ForkLock.RLock() // a child that starts now would hold the file open for writing
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestExec: the program gets its arguments as they are and the message on standard input, in a small
// environment.
func TestExec(t *testing.T) {
	t.Setenv("SLUICE_SECRET_OF_TEST", "x")
	out := filepath.Join(t.TempDir(), "out")
	program := script(t, `{ cat; printf '[%s]' "$@"; env; } > "$1"`)
	o := startQueue(t, Channels{Exec: []string{program, out, "a b; $(x)"}})
	o.Add([]notify.Send{siteMessage("x-1")})
	if s := o.settled(t); s.Sent != 1 || s.Failed != 0 {
		t.Fatalf("%+v", s)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	line, rest, _ := strings.Cut(string(text), "\n")
	var m message.Message
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.ID != "x-1" || m.Job.ID != 7 {
		t.Errorf("%v in %s", err, line)
	}
	if !strings.Contains(rest, "[a b; $(x)]") || strings.Contains(rest, "SLUICE_SECRET_OF_TEST") {
		t.Errorf("%s", rest)
	}
}

// TestExecFails: a program that fails is tried again and then counted, once in the log; one that others may
// change is not run.
func TestExecFails(t *testing.T) {
	runs := filepath.Join(t.TempDir(), "runs")
	o := startQueue(t, Channels{Exec: []string{script(t, "echo run >> "+runs+"; echo no  disk >&2; exit 3")}})
	o.Add([]notify.Send{siteMessage("x-1"), siteMessage("x-2")})
	s := o.settled(t)
	if s.Failed != 2 || s.Sent != 0 || !strings.Contains(s.Why, "exit status 3: no disk") {
		t.Errorf("%+v", s)
	}
	if text, err := os.ReadFile(runs); err != nil || strings.Count(string(text), "run") != 2*Attempts {
		t.Errorf("%v, runs: %s", err, text)
	}
	if told, counts := o.said(); len(told) != 1 || counts["exec failed"] != 2 {
		t.Errorf("told %q, counted %v", told, counts)
	}
	ran := filepath.Join(t.TempDir(), "ran")
	loose := script(t, "touch "+ran)
	if err := os.Chmod(loose, 0o777); err != nil {
		t.Fatal(err)
	}
	o.Configure(Channels{Exec: []string{loose}})
	o.Add([]notify.Send{siteMessage("x-3")})
	if s := o.settled(t); s.Failed != 3 || !strings.Contains(s.Why, "chmod go-w") {
		t.Errorf("%+v", s)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program that others may change was run")
	}
	o.Configure(Channels{Exec: []string{script(t, "cat > /dev/null")}})
	o.Add([]notify.Send{siteMessage("x-4")})
	s = o.settled(t)
	if told, _ := o.said(); s.Sent != 1 || len(told) != 2 || told[1] != "exec: <nil>" {
		t.Errorf("%+v, told %q", s, told)
	}
}

// TestExecDeadline: a program that hangs is killed with its children.
func TestExecDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	c := Channels{Exec: []string{script(t, "sleep 3600 & sleep 3600")}}
	if err := c.run(ctx, message.Message{}); err == nil || !strings.Contains(err.Error(), "had not ended") {
		t.Errorf("%v", err)
	}
}

// receiver is an HTTPS server that checks signatures.
type receiver struct {
	mu       sync.Mutex
	statuses []int // of the answers, in turn; the last one for all others
	got      []*http.Request
	bodies   [][]byte
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got, r.bodies = append(r.got, q), append(r.bodies, body)
	status := r.statuses[min(len(r.got), len(r.statuses))-1]
	if status == http.StatusFound {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(status)
}

// received returns the requests so far, with their bodies.
func (r *receiver) received() ([]*http.Request, [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got), slices.Clone(r.bodies)
}

func serveHTTPS(t *testing.T, statuses ...int) (*receiver, string, Poster) {
	r := &receiver{statuses: statuses}
	server := httptest.NewTLSServer(r)
	t.Cleanup(server.Close)
	return r, server.URL, NewClient(server.Client().Transport)
}

// TestWebhook: the site's webhook gets each message, signed, again after an error, under the same id.
func TestWebhook(t *testing.T) {
	r, url, client := serveHTTPS(t, 503, 429, 204)
	secret := []byte("0123456789abcdef")
	o := startQueue(t, Channels{Webhook: url + "/hook", Secret: secret, Client: client})
	o.Add([]notify.Send{siteMessage("x-1")})
	if s := o.settled(t); s.Sent != 1 || s.Failed != 0 {
		t.Fatalf("%+v", s)
	}
	got, bodies := r.received()
	if len(got) != 3 {
		t.Fatalf("%d posts", len(got))
	}
	for i, q := range got {
		stamp := q.Header.Get(HeaderTimestamp)
		if stamp != strconv.FormatInt(noon.Unix(), 10) || q.Header.Get(HeaderSignature) != Sign(secret, stamp, bodies[i]) || q.Header.Get("Idempotency-Key") != "x-1" || q.URL.Path != "/hook" {
			t.Errorf("%v", q.Header)
		}
	}
}

// TestSign: the signature is what others compute. printf '%s' '1767355200.{}' | openssl dgst -sha256 -hmac 0123456789abcdef
func TestSign(t *testing.T) {
	if got := Sign([]byte("0123456789abcdef"), "1767355200", []byte("{}")); got != "v1=df9e8aa7dff8619a800eff70d065697f63e89a0d80b7e83396bc88d25e4d28a7" {
		t.Error(got)
	}
}

// TestNoRedirect: a redirect is not followed, and what the receiver refuses is not tried again.
func TestNoRedirect(t *testing.T) {
	for _, status := range []int{302, 404} {
		r, url, client := serveHTTPS(t, status)
		o := startQueue(t, Channels{Webhook: url, Secret: []byte("0123456789abcdef"), Client: client})
		o.Add([]notify.Send{siteMessage("x-1")})
		s := o.settled(t)
		want := map[int]int{302: Attempts, 404: 1}[status]
		got, _ := r.received()
		if s.Failed != 1 || len(got) != want || strings.Contains(s.Why, url+"/") {
			t.Errorf("%d: %+v after %d posts, want %d", status, s, len(got), want)
		}
		for _, q := range got {
			if q.URL.Path == "/elsewhere" {
				t.Error("followed")
			}
		}
	}
}

// TestUsersWebhook: a user's URL is read from the job's folder when the message is sent; it is posted to only if
// the site allows it, and not signed.
func TestUsersWebhook(t *testing.T) {
	r, url, client := serveHTTPS(t, 200)
	var hook atomic.Value
	hook.Store(url + "/u")
	denied := errors.New("not allowed")
	c := Channels{Secret: []byte("0123456789abcdef"), Client: client,
		Hook:   func(string, uint32) (string, error) { return hook.Load().(string), nil },
		Allows: func(u string) error { return map[bool]error{true: nil, false: denied}[u == url+"/u"] }}
	o := startQueue(t, c)
	o.Add([]notify.Send{userMessage("x-1", 5)})
	s := o.settled(t)
	if got, _ := r.received(); s.Sent != 1 || len(got) != 1 || got[0].Header.Get(HeaderSignature) != "" {
		t.Fatalf("%+v", s)
	}
	hook.Store(url + "/elsewhere") // it would answer
	o.Add([]notify.Send{userMessage("x-2", 5)})
	s = o.settled(t)
	if got, _ := r.received(); s.OfUsers != 1 || s.Failed != 0 || s.Why != "" || len(got) != 1 {
		t.Errorf("%+v, %d posts", s, len(got))
	}
}

// TestMail: MailProg is called as slurmctld calls it.
func TestMail(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	program := script(t, `{ printf '[%s]' "$@"; echo; cat; env; } > `+out)
	mailer := Mailer{Program: program, Domain: "example.org", Cluster: "c1"}
	o := startQueue(t, Channels{Mailer: func(context.Context) (Mailer, error) { return mailer, nil }})
	s := userMessage("x-1", 5)
	s.User.Webhook = false
	s.Code, s.Subject, s.Text, s.Waited = message.SlurmBegan, "Slurm Job_id=7 Name=n Began, Queued time 00:00:02", "", 2
	o.Add([]notify.Send{s})
	if state := o.settled(t); state.Sent != 1 {
		t.Fatalf("%+v", state)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"[-s][Slurm Job_id=7 Name=n Began, Queued time 00:00:02][ann@example.org]\n", "\nSLURM_JOB_MAIL_TYPE=Began\n", "\nSLURM_JOB_QUEUED_TIME=00:00:02\n", "\nSLURM_JOB_USER=ann\n", "\nSLURM_CLUSTER_NAME=c1\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	for _, to := range []string{"-oQ/tmp", "a b", "a\nb", ""} {
		s.User = &notify.Receiver{Mail: true, To: to}
		i := &item{send: s, channel: Mail}
		if err := (&Channels{Mailer: func(context.Context) (Mailer, error) { return Mailer{Program: program}, nil }}).mail(t.Context(), i); err == nil || !permanent(err) {
			t.Errorf("%q: %v", to, err)
		}
	}
	if got := mailer.address("ann,bob@b.c"); got != "ann@example.org,bob@b.c" {
		t.Error(got)
	}
}

// TestBounded: what does not fit is dropped and counted, one user does not fill the queue, and Add never waits.
func TestBounded(t *testing.T) {
	q := New(Config{Now: func() time.Time { return noon }, Channels: Channels{Exec: []string{"/x"}}}) // nothing is sent: it does not run
	for i := range 10 * mostOfUser {
		q.Add([]notify.Send{userMessage(fmt.Sprint(i), 5)})
	}
	if s := q.State(); s.Waiting != mostOfUser || s.OfUsers != 9*mostOfUser {
		t.Errorf("%+v", s)
	}
	for i := range 2 * mostWaiting {
		q.Add([]notify.Send{siteMessage(fmt.Sprint(i))})
	}
	if s := q.State(); s.Waiting != mostWaiting || s.Dropped != mostWaiting+mostOfUser {
		t.Errorf("%+v", s)
	}
}

// TestLost: what is not sent at the end is counted.
func TestLost(t *testing.T) {
	q := New(Config{Now: func() time.Time { return noon }, Channels: Channels{Exec: []string{"/no/such/program"}}})
	q.Add([]notify.Send{siteMessage("x-1"), siteMessage("x-2")})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if lost := q.Run(ctx); lost != 2 {
		t.Errorf("%d lost, want 2", lost)
	}
}

// TestHangingFolders: folders that do not answer hold a bounded number of reads, and the queue goes on.
func TestHangingFolders(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	c := Channels{Hook: func(string, uint32) (string, error) { <-hang; return "", nil }}
	for range mostReads + 3 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.postForUser(ctx, &item{send: userMessage("x", 1)}, noon); err == nil || !strings.Contains(err.Error(), "answer") {
			t.Errorf("%v", err)
		}
	}
	if n := len(reads); n != mostReads {
		t.Errorf("%d reads hang, want %d", n, mostReads)
	}
}
