package control_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
	"github.com/sluice-hpc/sluice/slurm"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// options are those of a daemon whose account no caller has. The accounts of this machine do
// not matter: only these exist.
func options() control.Options {
	accounts := map[uint32]string{0: "root", 1: "daemon", controltest.AnnUID: "ann"}
	return control.Options{UID: 4242, Account: func(uid uint32) string { return accounts[uid] }, Now: func() time.Time { return controltest.Now }, Version: "1.2.3", Started: controltest.Now}
}

// serve runs a server and returns its socket.
func serve(t *testing.T, o control.Options, service control.Service) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s", "sluiced.sock")
	open(t, path, o, service)
	return path
}

func open(t *testing.T, path string, o control.Options, service control.Service) *control.Server {
	t.Helper()
	server, err := control.Listen(t.Context(), path, o, service)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return server
}

// as sends one request as another user.
func as(t *testing.T, uid int, path, method, url, body string) (int, string) {
	t.Helper()
	var status int
	var text string
	var err error
	controltest.As(t, uid, func() {
		var conn net.Conn
		if conn, err = net.Dial("unix", path); err == nil {
			defer conn.Close()
			status, text, err = exchange(conn, method, url, body)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return status, text
}

// reachable gives other users access to the test's folders.
func reachable(t *testing.T, path string) {
	t.Helper()
	for dir := filepath.Dir(path); dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func exchange(conn net.Conn, method, url, body string) (int, string, error) {
	request, err := http.NewRequest(method, "http://sluiced"+url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if err := request.Write(conn); err != nil {
		return 0, "", err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	return response.StatusCode, string(raw), err
}

// The wire format does not change by accident: every answer to the canned report is in a golden
// file.
func TestWire(t *testing.T) {
	client := client.Dial(serve(t, options(), controltest.New()))
	ctx := t.Context()
	for name, ask := range map[string]func() (any, error){
		"report":   func() (any, error) { return client.Report(ctx) },
		"explain":  func() (any, error) { return client.Explain(ctx, controltest.Growing) },
		"history":  func() (any, error) { return client.History(ctx, controltest.Growing) },
		"shares":   func() (any, error) { return client.Shares(ctx) },
		"sweeps":   func() (any, error) { return client.Sweeps(ctx) },
		"sweep":    func() (any, error) { return client.Sweep(ctx, int64(controltest.Growing), digest.Query{}) },
		"plan":     func() (any, error) { return client.Plan(ctx) },
		"past":     func() (any, error) { return client.Past(ctx, pastDay) },
		"forecast": func() (any, error) { return client.Forecast(ctx) },
		"whatif": func() (any, error) {
			return client.WhatIf(ctx, wire.WhatIf{JobID: int64(controltest.Growing), GPUs: 4})
		},
		"deadline": func() (any, error) {
			return client.Deadline(ctx, controltest.Growing, wire.Change{Deadline: controltest.Now.Add(time.Hour)})
		},
		"speed": func() (any, error) {
			uid := uint32(controltest.AnnUID)
			return client.Speeds(ctx, controltest.Model, &uid)
		},
		"usage": func() (any, error) {
			return client.Usage(ctx, "account", controltest.Now.Add(-24*time.Hour), time.Time{})
		},
		"status": func() (any, error) {
			s, err := client.Status(ctx)
			s.PID, s.User = 1, "sluice"
			return s, err
		},
	} {
		got, err := ask()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		raw, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".json", string(raw)+"\n")
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; read the diff, then -update:\n%s", name, got)
	}
}

// TestPresent: a client that wants no ended jobs is sent none, before and after one that
// wants them; all else of the report is the same.
func TestPresent(t *testing.T) {
	c := client.Dial(serve(t, options(), controltest.New()))
	var all, present wire.Report
	for range 2 {
		for want, ask := range map[*wire.Report]func(context.Context) (wire.Report, error){&all: c.Report, &present: c.Present} {
			var err error
			if *want, err = ask(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	lasting := slices.DeleteFunc(slices.Clone(all.Jobs), func(j wire.Job) bool { return j.Ended })
	if len(lasting) == len(all.Jobs) || len(lasting) == 0 {
		t.Fatalf("%d of %d jobs have not ended: nothing is tried", len(lasting), len(all.Jobs))
	}
	all.Jobs = lasting
	if !reflect.DeepEqual(all, present) {
		t.Errorf("got %+v, want %+v", present, all)
	}
}

// TestPresentIsTrueOrFalse: another value is a mistake of the client's.
func TestPresentIsTrueOrFalse(t *testing.T) {
	conn, err := net.Dial("unix", serve(t, options(), controltest.New()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	status, body, err := exchange(conn, "GET", "/v1/report?ended=perhaps", "")
	if err != nil || status != 400 || !strings.Contains(body, "want true or false") {
		t.Errorf("%d %s %v", status, body, err)
	}
}

func TestDirect(t *testing.T) {
	service := controltest.New()
	path := serve(t, options(), service)
	client, ctx := client.Dial(path), t.Context() // root
	for _, c := range []struct {
		job    elastic.JobID
		change wire.Change
		want   error
		words  string
	}{
		{controltest.Growing, wire.Change{Order: wire.Pin, GPUs: 4}, nil, ""},
		{controltest.Growing, wire.Change{Order: wire.Unpin}, nil, ""},
		{controltest.Waiting, wire.Change{Order: wire.Hold}, nil, ""},
		{controltest.OnHold, wire.Change{Order: wire.Release}, nil, ""},
		{controltest.Steady, wire.Change{Order: wire.Pin, GPUs: 3}, wire.ErrConflict, "job 42 cannot be pinned to 3 GPUs: it accepts 2, 4 or 8 GPUs"},
		{controltest.Growing, wire.Change{Order: wire.Pin, GPUs: 12}, wire.ErrConflict, "it accepts 1 to 8 GPUs"},
		{controltest.Growing, wire.Change{Order: wire.Pin, GPUs: 5}, wire.ErrConflict, "here 1, 2, 3, 4, 6 or 8 GPUs; 'sluice submit --allow-uneven' admits other splits"},
		{controltest.Growing, wire.Change{Order: wire.Pin}, wire.ErrBadRequest, "pin to 0 GPUs: want 1 to"},
		{controltest.Growing, wire.Change{Order: "stop"}, wire.ErrBadRequest, `unknown order "stop"`},
		{controltest.Growing, wire.Change{Order: wire.Hold, GPUs: 1}, wire.ErrBadRequest, "takes no GPUs"},
		{controltest.Finished, wire.Change{Order: wire.Hold}, wire.ErrConflict, "job 40 has ended (COMPLETED)"},
		{999, wire.Change{Order: wire.Hold}, wire.ErrNotFound, "no sluice job 999"},
		{-1, wire.Change{Order: wire.Hold}, wire.ErrBadRequest, "is not a job number"},
	} {
		err := client.Direct(ctx, c.job, c.change)
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%d %v: got %v, want %v %q", c.job, c.change, err, c.want, c.words)
		}
	}
	want := []string{"direct 0 41 pin to 4 GPUs", "direct 0 41 unpin", "direct 0 43 hold", "direct 0 44 release", "wake"} // an unknown job is searched once
	if os.Getuid() == 0 && !slices.Equal(service.Asked(), want) {
		t.Errorf("the daemon was asked %q, want %q", service.Asked(), want)
	}
}

// An order given right after sluice submit finds its job: the daemon looks again before it
// reports that there is none, twice if the first cycle was already under way.
func TestUnknownJobIsLookedForAgain(t *testing.T) {
	service := &late{Service: controltest.New()}
	all := service.Last
	early, between := *all, *all
	early.At, early.Jobs = all.At.Add(-time.Minute), nil
	between.At, between.Jobs = all.At.Add(-time.Second), nil
	service.Last, service.next = &early, []*publish.Report{&between, all}
	client := client.Dial(serve(t, options(), service))
	if e, err := client.Explain(t.Context(), controltest.Growing); err != nil || e.Job.JobID != int64(controltest.Growing) {
		t.Errorf("%+v %v", e.Job, err)
	}
}

// late publishes its next report when it is woken.
type late struct {
	*controltest.Service
	next []*publish.Report
}

func (l *late) Wake() {
	l.Set(func(s *controltest.Service) { s.Last, l.next = l.next[0], l.next[1:] })
}

// The caller is the account that the kernel reports: a user may not give orders about another user's job.
func TestIdentity(t *testing.T) {
	service := controltest.New()
	o := options()
	o.Operators = []string{"daemon"} // uid 1 on every Debian and Red Hat
	path := serve(t, o, service)
	reachable(t, path)
	hold := `{"order":"hold"}`
	for _, c := range []struct {
		uid  int
		want int
	}{{controltest.AnnUID, 200}, {controltest.BobUID, 403}, {4242, 200}, {1, 200}, {65534, 403}} {
		status, body := as(t, c.uid, path, "POST", "/v1/jobs/41/direct", hold)
		if status != c.want {
			t.Errorf("uid %d: %d %s, want %d", c.uid, status, body, c.want)
		}
		if status == 403 && !strings.Contains(body, "job 41 belongs to ann") {
			t.Errorf("uid %d: %s", c.uid, body)
		}
	}
	if status, body := as(t, controltest.BobUID, path, "GET", "/v1/report", ""); status != 200 || !strings.Contains(body, `"job_id":41`) {
		t.Errorf("bob reads the report: %d %s", status, body)
	}
}

// unfit is a report in which bob's job complains about a node.
func unfit(s *controltest.Service) {
	next := *s.Last
	next.Health = []elastic.Finding{{Node: "gpu2", Excluded: true, Why: "GPU 3: lost", By: []elastic.JobID{controltest.Steady}, Until: controltest.Now}}
	s.Last = &next
}

// Only operators may allow a node to be used whatever jobs report.
func TestTrust(t *testing.T) {
	service := controltest.New()
	service.Set(unfit)
	o := options()
	o.Operators = []string{"daemon"}
	path := serve(t, o, service)
	reachable(t, path)
	for _, c := range []struct {
		uid  int
		node string
		want int
	}{{controltest.AnnUID, "gpu2", 403}, {controltest.BobUID, "gpu2", 403}, {1, "gpu2", 200}, {1, "gpu9", 404}, {1, "..%2Fgpu2", 404}} {
		if status, body := as(t, c.uid, path, "POST", "/v1/nodes/"+c.node+"/trust", ""); status != c.want {
			t.Errorf("uid %d, %s: %d %s, want %d", c.uid, c.node, status, body, c.want)
		}
	}
	if got := service.Asked(); !slices.Equal(got, []string{"trust 1 gpu2"}) {
		t.Errorf("asked %q", got)
	}
	for who, want := range map[int]string{controltest.AnnUID: `"jobs":[]`, controltest.BobUID: `"jobs":[42]`} {
		o.Private = true
		private := serve(t, o, service)
		reachable(t, private)
		status, body := as(t, who, private, "GET", "/v1/report", "")
		if status != 200 || !strings.Contains(body, `"health":{"excluded":true,"why":"GPU 3: lost",`+want) {
			t.Errorf("uid %d reads %d %s", who, status, body)
		}
	}
}

func TestPrivate(t *testing.T) {
	o := options()
	o.Private = true
	path := serve(t, o, controltest.New())
	reachable(t, path)
	for _, url := range []string{"/v1/report", "/v1/plan", "/v1/usage?by=user&since=2026-03-01T00:00:00Z"} {
		status, body := as(t, controltest.AnnUID, path, "GET", url, "")
		if status != 200 || strings.Contains(body, "bob") || strings.Contains(body, "llama") || !strings.Contains(body, `"ann"`) {
			t.Errorf("%s: %d %s", url, status, body)
		}
	}
	for _, verb := range []string{"explain", "history"} {
		if status, body := as(t, controltest.AnnUID, path, "GET", "/v1/jobs/42/"+verb, ""); status != 404 || strings.Contains(body, "bob") {
			t.Errorf("%s of another's job: %d %s", verb, status, body)
		}
		if status, _ := as(t, controltest.AnnUID, path, "GET", "/v1/jobs/41/"+verb, ""); status != 200 {
			t.Errorf("%s about the user's own job: %d", verb, status)
		}
	}
	if status, body := as(t, controltest.AnnUID, path, "POST", "/v1/jobs/42/direct", `{"order":"hold"}`); status != 404 {
		t.Errorf("order about an invisible job: %d %s", status, body)
	}
}

func TestUserModeIsForOneUser(t *testing.T) {
	o := options()
	o.UserMode, o.UID = true, controltest.AnnUID
	path := serve(t, o, controltest.New())
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket %v, %v", info.Mode(), err)
	}
	// Also if the mode of the socket is opened up.
	reachable(t, path)
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if status, body := as(t, controltest.BobUID, path, "GET", "/v1/status", ""); status != 403 || !strings.Contains(body, "sluiced --user") {
		t.Errorf("bob: %d %s", status, body)
	}
	if status, body := as(t, controltest.AnnUID, path, "GET", "/v1/status", ""); status != 200 || !strings.Contains(body, `"mode":"user"`) {
		t.Errorf("ann: %d %s", status, body)
	}
}

func TestErrorsBecomeTyped(t *testing.T) {
	service := controltest.New()
	logged := make(chan error, 10)
	o := options()
	o.Log = func(err error) { logged <- err }
	client, ctx := client.Dial(serve(t, o, service)), t.Context()
	for _, c := range []struct {
		err, want error
		hint      string
	}{
		{&slurm.Error{Op: "scontrol update", JobID: 41, Err: slurm.ErrPermission, Words: "Access denied"}, wire.ErrDenied, "sluice doctor"},
		{&slurm.Error{Op: "scontrol update", JobID: 41, Err: slurm.ErrControllerDown}, wire.ErrUnavailable, "scontrol ping"},
		{&slurm.Error{Op: "scontrol update", JobID: 41, Err: slurm.ErrRefused, Words: "no"}, wire.ErrConflict, ""},
		{&slurm.Error{Op: "scontrol update", JobID: 41, Err: slurm.ErrNotFound}, wire.ErrNotFound, "sluice queue"},
		{context.DeadlineExceeded, wire.ErrUnavailable, "try again"},
		{&wire.Error{Code: wire.Conflict, Message: "m", Hint: "h"}, wire.ErrConflict, "h"},
		{errors.New("disk on fire"), wire.ErrInternal, "log"},
	} {
		service.Set(func(s *controltest.Service) { s.Err = c.err })
		err := client.Direct(ctx, controltest.Growing, wire.Change{Order: wire.Hold})
		var typed *wire.Error
		if !errors.Is(err, c.want) || !errors.As(err, &typed) || !strings.Contains(typed.Hint, c.hint) {
			t.Errorf("%v arrives as %v", c.err, err)
		}
	}
	if len(logged) != 1 || !strings.Contains((<-logged).Error(), "disk on fire") {
		t.Errorf("the log lacks the one error that only an administrator can repair")
	}
	service.Set(func(s *controltest.Service) { s.Err, s.Last = nil, nil })
	if _, err := client.Report(ctx); !errors.Is(err, wire.ErrUnavailable) {
		t.Errorf("before the first cycle: %v", err)
	}
	if s, err := client.Status(ctx); err != nil || s.Program != "1.2.3" {
		t.Errorf("status before the first cycle: %+v, %v", s, err)
	}
}
