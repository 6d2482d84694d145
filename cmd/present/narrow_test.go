package present

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestListsFit80Columns: on 80 columns each list shows its main columns, and a part of the reason,
// whatever names, partitions and amounts of work there are.
func TestListsFit80Columns(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	j := wire.Job{JobID: 12345678, Name: strings.Repeat("pretrain-", 9), User: "firstname.surname", ST: "PD", GPUs: 16, Min: 2, Max: 64,
		Done: 120_500, Total: 2_000_000, Unit: "step", ETA: at.Add(26 * time.Hour), Reason: "waiting for 16 GPUs: all 128 GPUs are in use"}
	n := wire.Node{Name: "gpu-node-0123", Partitions: []string{"gpu", "gpu-long", "interactive", "maintenance"}, Type: "nvidia_h100_80gb_hbm3",
		GPUs: 8, Used: 8, Elastic: 8, State: "DRAIN", Note: "kernel update on Monday, tickets 4711 and 4712", Jobs: []int64{1, 2, 3, 4, 5, 6, 7, 8}}
	jobs, err := Jobs.ParseFormat(NarrowFormat)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := Nodes.ParseFormat(NodeFormat)
	if err != nil {
		t.Fatal(err)
	}
	for want, table := range map[string]terminal.Table{
		"6%  1-02:00:00  waiting for ": jobs.Table([]wire.Job{j}, at),
		"8        8     0  drain (":    nodes.Table([]wire.Node{n}, at),
	} {
		table.Room = 80
		var b bytes.Buffer
		if err := table.Write(&b); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if terminal.Width(line) > 80 {
				t.Errorf("%d columns: %q", terminal.Width(line), line)
			}
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}
