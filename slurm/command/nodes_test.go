package command

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// TestSetNodes: arguments are passed on unchanged, and each kind of failure is
// recognised.
func TestSetNodes(t *testing.T) {
	drain := NodeUpdate{Nodes: "gpu[1-2]", Reason: "new kernel; $(id)"}
	for _, c := range []struct {
		name, body string
		update     NodeUpdate
		want       error
		hint       string
	}{
		{"drained", "", drain, nil, ""},
		{"returned", "", NodeUpdate{Nodes: "gpu1"}, nil, ""},
		{"not allowed", "echo 'slurm_update error: Invalid user id' >&2; exit 1", drain, slurm.ErrPermission, "operators and administrators"},
		{"not allowed, in other words", "echo 'slurm_update error: Access/permission denied' >&2; exit 1", drain, slurm.ErrPermission, "operators and administrators"},
		{"no such node", "echo 'slurm_update error: Invalid node name specified' >&2; exit 1", drain, slurm.ErrRefused, ""},
		{"no answer", "sleep 60", drain, slurm.ErrUnknownOutcome, "sinfo"},
	} {
		limit := time.Minute
		if c.want == slurm.ErrUnknownOutcome {
			limit = 3 * time.Second // long enough on a busy machine for the program to write down its call
		}
		s := newStubs(t)
		s.set("scontrol", c.body)
		err := s.client(Config{Timeout: limit}).SetNodes(context.Background(), c.update)
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.hint) {
			t.Errorf("%s: %v", c.name, err)
		}
		want := "scontrol [update] [NodeName=gpu[1-2]] [State=DRAIN] [Reason=new kernel; $(id)]\n"
		if c.update.Reason == "" {
			want = "scontrol [update] [NodeName=gpu1] [State=RESUME]\n"
		}
		if calls := s.calls(); strings.Join(calls, "\n")+"\n" != want {
			t.Errorf("%s: %q", c.name, calls)
		}
	}
}
