package main_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
)

// pagesOf runs "sluice web" for the caller and returns a browser that is logged in.
func (s *scene) pagesOf(home string) *http.Client {
	s.t.Helper()
	socket := filepath.Join(home, "web.sock")
	ctx, stop := context.WithCancel(s.ctx)
	cmd, err := s.Command(ctx, "", "sluice", "web", "--socket", socket)
	s.must(err)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	read, write, err := os.Pipe()
	s.must(err)
	cmd.Stdout, cmd.Stderr = write, os.Stderr
	s.must(cmd.Start())
	write.Close()
	s.t.Cleanup(func() { stop(); cmd.Wait(); read.Close() })
	address, lines := "", bufio.NewScanner(read)
	for address == "" && lines.Scan() {
		address = regexp.MustCompile(`http://\S+/login\?token=[0-9a-f]+`).FindString(lines.Text())
	}
	jar, err := cookiejar.New(nil)
	s.must(err)
	h := &http.Client{Timeout: time.Minute, Jar: jar, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	answer, err := h.Get(address)
	s.must(err)
	answer.Body.Close()
	return h
}

// page is a page as a browser gets it, or what comes of an order that it posts.
func (s *scene) page(h *http.Client, path string, posted bool) string {
	s.t.Helper()
	method := "GET"
	if posted {
		method = "POST"
	}
	q, err := http.NewRequest(method, "http://localhost:8642"+path, nil)
	s.must(err)
	a, err := h.Do(q)
	s.must(err)
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	s.must(err)
	if a.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s", method, path, a.StatusCode, body)
	}
	return string(body)
}

// samePages checks that sluiced answers with the trials that the pages of a site show.
func (s *scene) samePages(number string) {
	s.t.Helper()
	n, err := strconv.ParseInt(number, 10, 64)
	s.must(err)
	all, err := s.Control().Sweeps(s.ctx)
	s.must(err)
	d, err := s.Control().Sweep(s.ctx, n, digest.Query{Sort: digest.ByNumber})
	s.must(err)
	if len(all.Sweeps) != 1 || !all.Sweeps[0].Open || d.Token != all.Sweeps[0].Token || len(d.Trials) < 2 {
		s.t.Fatalf("%+v of %+v", d, all.Sweeps)
	}
	first := d.Trials[0]
	if !strings.HasPrefix(first.Point, "x=") || first.State != "done" || first.Job != n || first.Best == nil || len(d.Curves) == 0 || d.Curves[0].Marks[0].Job != n || d.Params[0].Name != "x" || d.Top == 0 {
		s.t.Errorf("%+v", d)
	}
}

// The pages of a sweep on a real cluster: its trials, its curves in the colour of its lanes' GPUs, its
// lanes, which lead back to it; sluiced answers with the same trials. It is paused and resumed there, and its
// page still has it while sluiced is down.
func TestSweepPages(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 2))
	home := s.Home("")
	number := s.sweep("trial.py", `#SLUICE --sweep=random --metric=score:max --trials=40 --parallel=1 --epochs=6 --seed=3
#SLUICE --param x=float:0:1
/usr/bin/python3 PROGRAM --x {x} --log `+filepath.Join(home, "epochs"))
	h := s.pagesOf(home)
	until := func(what, path string, ok func(string) bool) {
		t.Helper()
		s.must(site.Until(s.ctx, time.Minute, what, func() (bool, error) { return ok(s.page(h, path, false)), nil }))
	}
	until("two trials on the page, in colour", "/sweeps/"+number, func(body string) bool {
		return strings.Contains(body, ">2<") && strings.Contains(body, `class="w1"`) && strings.Contains(body, "Best result of sweep "+number)
	})
	if body := s.page(h, "/sweeps", false); !strings.Contains(body, "/sweeps/"+number) {
		t.Errorf("the list: %s", body)
	}
	s.samePages(number)
	until("the lane to lead to its sweep", "/jobs/"+number, func(body string) bool {
		return strings.Contains(body, "/sweeps/"+number) && strings.Contains(body, "runs trial ")
	})
	if body := s.page(h, "/sweeps/"+number+"/pause", true); !strings.Contains(body, "<h1>Done</h1>") {
		t.Errorf("paused: %s", body)
	}
	until("the sweep to be paused", "/sweeps/"+number, func(body string) bool {
		return strings.Contains(body, ">paused<") && strings.Contains(body, "Resume") && strings.Contains(body, "<b>0</b> running")
	})
	if body := s.page(h, "/sweeps/"+number+"/resume", true); !strings.Contains(body, "<h1>Done</h1>") {
		t.Errorf("resumed: %s", body)
	}
	until("it to go on", "/sweeps/"+number, func(body string) bool { return strings.Contains(body, "<b>1</b> running") })
	s.must(s.Stop())
	if body := s.page(h, "/sweeps/"+number, false); !strings.Contains(body, "is missing") || !strings.Contains(body, "Learning curves") {
		t.Errorf("while sluiced is down: %s", body)
	}
	s.must(s.Start(s.ctx))
	if body := s.page(h, "/sweeps/"+number+"/stop", true); !strings.Contains(body, "<h1>Done</h1>") {
		t.Errorf("stopped: %s", body)
	}
	until("it to be over", "/sweeps/"+number, func(body string) bool { return strings.Contains(body, "stopped by its user") })
	if dir := os.Getenv("SLUICE_SCREENSHOTS"); dir != "" {
		s.must(os.WriteFile(filepath.Join(dir, "lab-sweep.html"), []byte(s.page(h, "/sweeps/"+number, false)), 0o644))
	}
}
