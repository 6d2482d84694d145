package control_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
)

// The trials of a sweep come with what was asked for; what makes no sense is refused, and a user who asks
// again and again is told to wait.
func TestTrialsOfASweep(t *testing.T) {
	service := controltest.New()
	o := options()
	o.UID = uint32(os.Getuid())
	path := serve(t, o, service)
	got, err := client.Dial(path).Sweep(t.Context(), int64(controltest.Growing), digest.Query{Sort: digest.ByNumber, From: 2})
	if err != nil || got.Number != int64(controltest.Growing) || got.Token != controltest.Sweep || got.User != "ann" || got.From != 2 || len(got.Trials) != 2 || got.Trials[0].Point != "lr=0.03" {
		t.Errorf("%+v, %v", got, err)
	}
	if asked := strings.Join(service.Asked(), "\n"); asked != fmt.Sprintf("trials %d 5555 number 2", controltest.AnnUID) {
		t.Errorf("asked %q", asked)
	}
	reachable(t, path)
	for at, want := range map[string]int{
		"/v1/sweeps/41?sort=worst": http.StatusBadRequest, "/v1/sweeps/41?from=-1": http.StatusBadRequest, "/v1/sweeps/41?from=x": http.StatusBadRequest, "/v1/sweeps/0": http.StatusBadRequest,
		"/v1/sweeps/x": http.StatusBadRequest, "/v1/sweeps/42": http.StatusNotFound, "/v1/sweeps/43": http.StatusNotFound, "/v1/sweeps/99999999999999999999": http.StatusBadRequest, "/v1/sweeps/41?from=999999": http.StatusOK,
	} {
		if code, body := as(t, controltest.AnnUID, path, "GET", at, ""); code != want {
			t.Errorf("%s: %d %s", at, code, body)
		}
	}
	for n := 0; ; n++ {
		_, err := client.Dial(path).Sweep(t.Context(), int64(controltest.Growing), digest.Query{})
		if errors.Is(err, wire.ErrTooMany) && n > 5 {
			break
		}
		if err != nil || n > 40 {
			t.Fatalf("after %d: %v", n, err)
		}
	}
	if _, err := client.Dial(path).Report(t.Context()); err != nil {
		t.Errorf("other requests: %v", err)
	}
}

// hanging is a daemon with the folders of one user hanging.
type hanging struct{ *controltest.Service }

func (h hanging) SweepTrials(ctx context.Context, _ string, _ uint32, _ digest.Query) (digest.Digest, error) {
	<-ctx.Done()
	return digest.Digest{}, wire.Fail(wire.Unavailable, "", "it hangs")
}

// Folders that hang delay nothing but requests for their trials, and these for a few seconds.
func TestTrialsThatHang(t *testing.T) {
	t.Parallel()
	o := options()
	o.UID = uint32(os.Getuid())
	path := serve(t, o, hanging{controltest.New()})
	answers := make(chan error)
	for range 3 {
		go func() {
			_, err := client.Dial(path).Sweep(t.Context(), int64(controltest.Growing), digest.Query{})
			answers <- err
		}()
	}
	for range 5 {
		if _, err := client.Dial(path).Sweeps(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for range 3 {
		select {
		case err := <-answers:
			if !errors.Is(err, wire.ErrUnavailable) {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("it waits for ever")
		}
	}
}

// numbered is a daemon with several sweeps of one number, as their users have written it.
type numbered struct {
	*controltest.Service
	sweeps map[string]control.SweepReport
}

func (n numbered) Sweeps() map[string]control.SweepReport { return n.sweeps }

// Numbers of sweeps are written by users: one's own sweep counts first, then the one that has the job of that
// number.
func TestSweepsOfOneNumber(t *testing.T) {
	first, second := strings.Repeat("1", 32), strings.Repeat("2", 32)
	n := numbered{controltest.New(), map[string]control.SweepReport{}}
	last := *n.Last
	last.Jobs = append(last.Jobs[:0:0], last.Jobs...)
	for i, token := range []string{first, second} { // of bob, and of the caller
		jr := last.Jobs[0]
		jr.Record.ID, jr.Record.Owner.UID, jr.Record.Tag.Spec.Sweep = 900+jr.Record.ID, []uint32{controltest.BobUID, uint32(os.Getuid())}[i], token
		last.Jobs = append(last.Jobs, jr)
		n.sweeps[token] = control.SweepReport{Sweep: wire.Sweep{Number: int64(controltest.Growing), UID: jr.Record.Owner.UID, State: "running", Metric: "acc"}}
	}
	n.sweeps[controltest.Sweep] = n.Service.Sweeps()[controltest.Sweep]
	n.Last = &last
	o := options()
	o.UID = uint32(os.Getuid())
	c := client.Dial(serve(t, o, n))
	if got, err := c.Sweep(t.Context(), int64(controltest.Growing), digest.Query{}); err != nil || got.Token != second {
		t.Errorf("one's own: %+v, %v", got.Token, err)
	}
	delete(n.sweeps, second)
	if got, err := c.Sweep(t.Context(), int64(controltest.Growing), digest.Query{}); err != nil || got.Token != controltest.Sweep {
		t.Errorf("that of job 41: %+v, %v", got.Token, err)
	}
}
